#include "sframe_gen/coverage.hpp"

namespace sframe_gen {

std::string_view key_of(Unrepresentable reason) {
  switch (reason) {
    case Unrepresentable::CfaUnspecified:
      return "cfa-unspecified";
    case Unrepresentable::CfaIsExpression:
      return "cfa-is-expression";
    case Unrepresentable::CfaBaseIsNoRegister:
      return "cfa-base-is-no-register";
    case Unrepresentable::OffsetTooLarge:
      return "offset-too-large";
    case Unrepresentable::ReturnAddressUnspecified:
      return "return-address-unspecified";
    case Unrepresentable::ReturnAddressIsExpression:
      return "return-address-is-expression";
    case Unrepresentable::FramePointerUndefined:
      return "frame-pointer-undefined";
    case Unrepresentable::FramePointerIsExpression:
      return "frame-pointer-is-expression";
    case Unrepresentable::ValueIsCfaPlusOffset:
      return "value-is-cfa-plus-offset";
    case Unrepresentable::RuleBaseIsNoRegister:
      return "rule-base-is-no-register";
    case Unrepresentable::StackPointerRestoredElsewhere:
      return "stack-pointer-restored-elsewhere";
    case Unrepresentable::UnknownInstruction:
      return "unknown-instruction";
    case Unrepresentable::CfaRuleWithoutRegister:
      return "cfa-rule-without-register";
    case Unrepresentable::ForeignReturnColumn:
      return "foreign-return-column";
    case Unrepresentable::ConflictingEntries:
      return "conflicting-entries";
    case Unrepresentable::CfaNeedsFlexible:
      return "cfa-needs-flexible";
    case Unrepresentable::ReturnAddressNeedsFlexible:
      return "return-address-needs-flexible";
    case Unrepresentable::FramePointerNeedsFlexible:
      return "frame-pointer-needs-flexible";
    case Unrepresentable::FramePointerWithoutReturnAddress:
      return "frame-pointer-without-return-address";
    case Unrepresentable::ReturnAddressWithoutFramePointer:
      return "return-address-without-frame-pointer";
    case Unrepresentable::ReturnAddressUndefined:
      return "return-address-undefined";
    case Unrepresentable::OffsetUnaligned:
      return "offset-unaligned";
    case Unrepresentable::SignalFrame:
      return "signal-frame";
    case Unrepresentable::SignedReturnAddress:
      return "signed-return-address";
    case Unrepresentable::SigningUnknown:
      return "signing-unknown";
  }
  return {};
}

std::string_view sentence_of(Unrepresentable reason) {
  switch (reason) {
    case Unrepresentable::CfaUnspecified:
      return "no rule gives the CFA";
    case Unrepresentable::CfaIsExpression:
      return "CFA is a DWARF expression SFrame cannot say";
    case Unrepresentable::CfaBaseIsNoRegister:
      return "CFA is based on a DWARF column that is no register";
    case Unrepresentable::OffsetTooLarge:
      return "offset does not fit in 32 bits";
    case Unrepresentable::ReturnAddressUnspecified:
      return "no rule gives the return address";
    case Unrepresentable::ReturnAddressIsExpression:
      return "return address is a DWARF expression SFrame cannot say";
    case Unrepresentable::FramePointerUndefined:
      return "caller's frame pointer is lost";
    case Unrepresentable::FramePointerIsExpression:
      return "frame pointer is a DWARF expression SFrame cannot say";
    case Unrepresentable::ValueIsCfaPlusOffset:
      return "value is CFA plus an offset, which SFrame cannot say";
    case Unrepresentable::RuleBaseIsNoRegister:
      return "rule is based on a DWARF column that is no register";
    case Unrepresentable::StackPointerRestoredElsewhere:
      return "caller's stack pointer is not the CFA";
    case Unrepresentable::UnknownInstruction:
      return "call frame instruction is unknown";
    case Unrepresentable::CfaRuleWithoutRegister:
      return "instruction changes a CFA rule that has no register";
    case Unrepresentable::ForeignReturnColumn:
      return "CIE returns by a column that is not the ABI's";
    case Unrepresentable::ConflictingEntries:
      return "FDEs that overlap disagree";
    case Unrepresentable::CfaNeedsFlexible:
      return "CFA is not SP or FP plus an offset, which takes a flexible descriptor";
    case Unrepresentable::ReturnAddressNeedsFlexible:
      return "return address is somewhere that takes a flexible descriptor";
    case Unrepresentable::FramePointerNeedsFlexible:
      return "frame pointer is somewhere that takes a flexible descriptor";
    case Unrepresentable::FramePointerWithoutReturnAddress:
      return "frame pointer is saved without the return address, which takes a flexible descriptor";
    case Unrepresentable::ReturnAddressWithoutFramePointer:
      return "return address is saved without the frame pointer, which CTF Frame cannot say";
    case Unrepresentable::ReturnAddressUndefined:
      return "outermost frame, which the version or its readers have no row for";
    case Unrepresentable::OffsetUnaligned:
      return "offset is not a multiple of the unit that s390x rows store";
    case Unrepresentable::SignalFrame:
      return "signal frame, which only version 3 can mark";
    case Unrepresentable::SignedReturnAddress:
      return "return address is signed, which CTF Frame cannot mark";
    case Unrepresentable::SigningUnknown:
      return "whether the return address is signed cannot be said (signed with the PC, or by an expression)";
  }
  return {};
}

}  // namespace sframe_gen
