#include "verify/signing_state.hpp"

#include <vector>

#include "cfi/instruction.hpp"
#include "support/dwarf_registers.hpp"

namespace sframe_gen::verify {

namespace {

using cfi::CfaOpcode;

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
