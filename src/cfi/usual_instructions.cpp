#include "cfi/usual_instructions.hpp"

namespace sframe_gen::cfi {

UsualInstructions::UsualInstructions(const TrackedRegisters& tracked) {
  for (std::uint8_t low_bits = 0; low_bits < 0x40; ++low_bits) {
    const bool followed = follows(tracked, DwarfRegister{low_bits});
    forms_[static_cast<std::uint8_t>(CfaOpcode::AdvanceLoc) | low_bits] = Form::Advance;
    forms_[static_cast<std::uint8_t>(CfaOpcode::Offset) | low_bits] =
        followed ? Form::StepWithNumber : Form::NothingWithNumber;
    forms_[static_cast<std::uint8_t>(CfaOpcode::Restore) | low_bits] = followed ? Form::Step : Form::Nothing;
  }
  put(CfaOpcode::Nop, Form::Nothing);
  put(CfaOpcode::GnuArgsSize, Form::NothingWithNumber);
  put(CfaOpcode::AdvanceLoc1, Form::AdvanceByte);
  put(CfaOpcode::AdvanceLoc2, Form::AdvanceWord);
  put(CfaOpcode::RememberState, Form::Remember);
  put(CfaOpcode::RestoreState, Form::Restore);
  put(CfaOpcode::DefCfaOffset, Form::StepWithNumber);
  put(CfaOpcode::DefCfaRegister, Form::StepWithNumber);
  put(CfaOpcode::DefCfa, Form::StepWithNumbers);
  put(CfaOpcode::Register, Form::StepWithNumbers);
  // Elsewhere nobody knows them.
  if (tracked.signing_state) put(CfaOpcode::AArch64NegateRaState, Form::Step);
}

}  // namespace sframe_gen::cfi
