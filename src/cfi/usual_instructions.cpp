#include "cfi/usual_instructions.hpp"

namespace sframe_gen::cfi {

UsualInstructions::UsualInstructions(const TrackedRegisters& tracked) {
  for (std::uint8_t low_bits = 0; low_bits < 0x40; ++low_bits) {
    const bool followed = follows(tracked, DwarfRegister{low_bits});
    const Effect effect = followed ? Effect::Step : Effect::None;
    forms_[static_cast<std::uint8_t>(CfaOpcode::AdvanceLoc) | low_bits] = {Effect::Advance};
    forms_[static_cast<std::uint8_t>(CfaOpcode::Offset) | low_bits] = {effect, 1};
    forms_[static_cast<std::uint8_t>(CfaOpcode::Restore) | low_bits] = {effect};
  }
  put(CfaOpcode::Nop, {Effect::None});
  put(CfaOpcode::GnuArgsSize, {Effect::None, 1});
  put(CfaOpcode::AdvanceLoc1, {Effect::Advance, 0, 1});
  put(CfaOpcode::AdvanceLoc2, {Effect::Advance, 0, 2});
  put(CfaOpcode::RememberState, {Effect::Remember});
  put(CfaOpcode::RestoreState, {Effect::Restore});
  put(CfaOpcode::DefCfaOffset, {Effect::Step, 1});
  put(CfaOpcode::DefCfaRegister, {Effect::Step, 1});
  put(CfaOpcode::DefCfa, {Effect::Step, 2});
  put(CfaOpcode::Register, {Effect::Step, 2});
  // Elsewhere nobody knows them.
  if (tracked.signing_state) put(CfaOpcode::AArch64NegateRaState, {Effect::Step});
}

}  // namespace sframe_gen::cfi
