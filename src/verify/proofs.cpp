#include "verify/proofs.hpp"

#include <vector>

#include "cfi/instruction.hpp"
#include "support/dwarf_registers.hpp"

namespace sframe_gen::verify {

namespace {

using cfi::CfaOpcode;

/// Whether no expression gives the CFA or SP, and each opcode is known. libdwarf does not tell where it stops at an
/// unknown one.
bool is_plain(const cfi::FrameTable& table, const cfi::Cie& cie, std::span<const std::byte> instructions,
              const sframe::AbiTraits& abi) {
  const cfi::InstructionContext context{cie.code_alignment, cie.data_alignment, cie.pointer_encoding,
                                        table.section_address, abi.signs_return_address};
  ByteReader reader(instructions, table.endian, table.origin, table.offset_of(instructions));
  while (!reader.at_end()) {
    const cfi::Instruction instruction = cfi::read_instruction(reader, context);
    const bool is_expression =
        instruction.opcode == CfaOpcode::Expression || instruction.opcode == CfaOpcode::ValExpression;
    if (!instruction.known || instruction.opcode == CfaOpcode::DefCfaExpression) return false;
    if (is_expression && instruction.target == cfi::DwarfRegister{abi.stack_pointer}) return false;
  }
  return true;
}

bool walk(const DwarfSession& session, std::size_t fde_index, const sframe::AbiTraits& abi) {
  const cfi::FrameTable& table = session.table();
  const cfi::Fde& fde = table.fdes[fde_index];
  const cfi::Cie& cie = table.cies[fde.cie_index];
  if (abi.stack_pointer_bias == 0 || cie.signal_frame) return false;
  if (!is_plain(table, cie, cie.initial_instructions, abi) || !is_plain(table, cie, fde.instructions, abi))
    return false;
  const std::uint64_t end = fde.function_start + fde.function_size;
  const auto sp_column = static_cast<std::uint16_t>(abi.stack_pointer);
  bool seen_entry = false;
  for (std::uint64_t pc = fde.function_start; pc < end;) {
    const EvaluatedRule cfa = session.evaluate(fde_index, DwarfSession::cfa_column, pc);
    const bool plain = cfa.kind == EvaluatedRule::Kind::Offset && cfa.offset_relevant;
    if (!plain || (cfa.base != abi.stack_pointer && cfa.base != abi.frame_pointer)) return false;
    if (cfa.base == abi.stack_pointer && cfa.offset == -abi.stack_pointer_bias) {
      const EvaluatedRule sp = session.evaluate(fde_index, sp_column, pc);
      seen_entry = seen_entry || (sp.kind == EvaluatedRule::Kind::Offset && !sp.offset_relevant &&
                                  sp.base == DwarfSession::same_value_column);
    }
    if (!cfa.next_row_pc || *cfa.next_row_pc <= pc) break;
    pc = *cfa.next_row_pc;
  }
  return seen_entry;
}

}  // namespace

bool StackPointerProofs::counts_as_a_whole(const cfi::Fde& fde, cfi::FrameSection kind) const {
  if (image_.code_left(fde.function_start) < fde.function_size) return false;
  const Range range{fde.function_start, fde.function_start + fde.function_size};
  return kind == cfi::FrameSection::EhFrame || !eh_frame_.overlaps(range);
}

bool StackPointerProofs::holds(const DwarfSession& session, std::size_t fde_index, const sframe::AbiTraits& abi) {
  if (!last_ || last_->session != &session || last_->fde_index != fde_index) {
    const cfi::FrameTable& table = session.table();
    const bool is_whole = counts_as_a_whole(table.fdes[fde_index], table.kind);
    last_ = {&session, fde_index, is_whole && walk(session, fde_index, abi)};
  }
  return last_->holds;
}

namespace {

constexpr cfi::DwarfRegister signing_column{*aarch64_registers.signing_state};

/// Goes through the instructions of a CIE and an FDE and keeps nothing but the state of signing.
class SigningState {
 public:
  SigningState(const cfi::FrameTable& table, const cfi::Cie& cie) : table_(table), common_(cie) {}

  /// Runs until an instruction would move past `target`.
  void run(std::span<const std::byte> instructions, std::uint64_t start, std::uint64_t target) {
    const cfi::InstructionContext context{common_.code_alignment, common_.data_alignment, common_.pointer_encoding,
                                          table_.section_address, true};
    ByteReader reader(instructions, table_.endian, table_.origin, table_.offset_of(instructions));
    std::uint64_t location = start;
    while (!reader.at_end()) {
      const cfi::Instruction instruction = cfi::read_instruction(reader, context);
      if (!instruction.known) {
        state_ = std::nullopt;
        return;
      }
      if (instruction.opcode == CfaOpcode::SetLoc) location = instruction.location;
      location += instruction.advance;
      if (location > target) return;
      apply(instruction);
    }
  }

  void keep_as_initial() { initial_ = state_; }
  std::optional<bool> state() const { return state_; }

 private:
  void apply(const cfi::Instruction& instruction) {
    switch (instruction.opcode) {
      case CfaOpcode::AArch64NegateRaState:
        if (state_) state_ = !*state_;
        return;
      case CfaOpcode::AArch64NegateRaStateWithPc:
        state_ = std::nullopt;
        return;
      case CfaOpcode::RememberState:
        remembered_.push_back(state_);
        return;
      case CfaOpcode::RestoreState:
        if (remembered_.empty()) return;
        state_ = remembered_.back();
        remembered_.pop_back();
        return;
      default:
        if (instruction.target == signing_column) apply_rule(instruction.opcode);
    }
  }

  void apply_rule(CfaOpcode opcode) {
    switch (opcode) {
      case CfaOpcode::DefCfa:
      case CfaOpcode::DefCfaSf:
      case CfaOpcode::DefCfaRegister:
        return;  // the CFA's register, not a rule for it
      case CfaOpcode::Restore:
      case CfaOpcode::RestoreExtended:
        state_ = initial_;
        return;
      default:
        state_ = std::nullopt;
    }
  }

  const cfi::FrameTable& table_;
  const cfi::Cie& common_;
  std::optional<bool> state_ = false;
  std::optional<bool> initial_ = false;
  std::vector<std::optional<bool>> remembered_;
};

}  // namespace

std::optional<bool> signed_at(const cfi::FrameTable& table, std::size_t fde_index, std::uint64_t pc) {
  const cfi::Fde& fde = table.fdes[fde_index];
  const cfi::Cie& cie = table.cies[fde.cie_index];
  SigningState state(table, cie);
  state.run(cie.initial_instructions, 0, 0);
  state.keep_as_initial();
  state.run(fde.instructions, fde.function_start, pc);
  return state.state();
}

}  // namespace sframe_gen::verify
