#include "verify/proofs.hpp"

#include <vector>

#include "support/dwarf_registers.hpp"
#include "verify/cfa_instructions.hpp"

namespace sframe_gen::verify {

namespace {

/// Checks that no expression gives the CFA or SP, and that each opcode is known. libdwarf does not tell where it stops
/// at an unknown one.
bool is_plain(const DwarfTable& table, const DwarfCie& cie, std::span<const std::byte> bytes,
              const sframe::AbiTraits& abi) {
  CfaInstructions instructions(table, cie, bytes);
  while (const auto instruction = instructions.next()) {
    const std::uint8_t opcode = instruction->opcode;
    const bool is_of_aarch64 = opcode == cfa::negate_ra_state || opcode == cfa::negate_ra_state_with_pc;
    if (!instruction->is_known || (is_of_aarch64 && !abi.signs_return_address)) return false;
    if (opcode == cfa::def_cfa_expression) return false;
    const bool is_expression = opcode == cfa::expression || opcode == cfa::val_expression;
    if (is_expression && instruction->target == std::uint64_t{abi.stack_pointer}) return false;
  }
  return true;
}

bool keeps_stack_pointer(const DwarfSession& session, std::size_t fde_index, const sframe::AbiTraits& abi) {
  const DwarfTable& table = session.table();
  const DwarfFde& fde = table.fdes[fde_index];
  const DwarfCie& cie = table.cie_of(fde_index);
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

constexpr std::uint64_t signing_column = *aarch64_registers.signing_state;

/// Goes through the instructions of a CIE and an FDE and keeps only whether the return address is signed.
class SigningState {
 public:
  SigningState(const DwarfTable& table, const DwarfCie& cie) : table_(table), cie_(cie) {}

  /// Runs until an instruction would move past `target`.
  void run(std::span<const std::byte> bytes, std::uint64_t start, std::uint64_t target) {
    CfaInstructions instructions(table_, cie_, bytes);
    std::uint64_t location = start;
    while (const auto instruction = instructions.next()) {
      if (!instruction->is_known) {
        state_ = std::nullopt;
        return;
      }
      location = instruction->location.value_or(location) + instruction->advance;
      if (location > target) return;
      apply(*instruction);
    }
  }

  void keep_as_initial() { initial_ = state_; }
  std::optional<bool> state() const { return state_; }

 private:
  void apply(const CfaInstruction& instruction) {
    switch (instruction.opcode) {
      case cfa::negate_ra_state:
        if (state_) state_ = !*state_;
        return;
      case cfa::negate_ra_state_with_pc:
        state_ = std::nullopt;
        return;
      case cfa::remember_state:
        remembered_.push_back(state_);
        return;
      case cfa::restore_state:
        if (remembered_.empty()) return;
        state_ = remembered_.back();
        remembered_.pop_back();
        return;
      default:
        if (instruction.target == signing_column) apply_rule(instruction.opcode);
    }
  }

  void apply_rule(std::uint8_t opcode) {
    switch (opcode) {
      case cfa::def_cfa:
      case cfa::def_cfa_sf:
      case cfa::def_cfa_register:
        return;  // the CFA's register, not a rule for it
      case cfa::restore:
      case cfa::restore_extended:
        state_ = initial_;
        return;
      default:
        state_ = std::nullopt;
    }
  }

  const DwarfTable& table_;
  const DwarfCie& cie_;
  std::optional<bool> state_ = false;
  std::optional<bool> initial_ = false;
  std::vector<std::optional<bool>> remembered_;
};

}  // namespace

bool StackPointerProofs::counts_as_a_whole(const DwarfFde& fde, CfiKind kind) const {
  if (image_.code_left(fde.function_start) < fde.function_size) return false;
  const Range range{fde.function_start, fde.function_start + fde.function_size};
  return kind == CfiKind::EhFrame || !eh_frame_.overlaps(range);
}

bool StackPointerProofs::holds(const DwarfSession& session, std::size_t fde_index, const sframe::AbiTraits& abi) {
  if (!last_ || last_->session != &session || last_->fde_index != fde_index) {
    const DwarfTable& table = session.table();
    const bool is_whole = counts_as_a_whole(table.fdes[fde_index], table.kind);
    last_ = {&session, fde_index, is_whole && keeps_stack_pointer(session, fde_index, abi)};
  }
  return last_->holds;
}

std::optional<bool> signed_at(const DwarfTable& table, std::size_t fde_index, std::uint64_t pc) {
  const DwarfFde& fde = table.fdes[fde_index];
  const DwarfCie& cie = table.cie_of(fde_index);
  SigningState state(table, cie);
  state.run(cie.initial_instructions, 0, 0);
  state.keep_as_initial();
  state.run(fde.instructions, fde.function_start, pc);
  return state.state();
}

}  // namespace sframe_gen::verify
