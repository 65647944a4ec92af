#include "emit/unrepresentable.hpp"

namespace sframe_gen::emit {

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
    case Unrepresentable::PltEntriesMisaligned:
      return "plt-entries-misaligned";
    case Unrepresentable::UnknownInstruction:
      return "unknown-instruction";
    case Unrepresentable::CfaRuleWithoutRegister:
      return "cfa-rule-without-register";
    case Unrepresentable::ForeignReturnColumn:
      return "foreign-return-column";
    case Unrepresentable::ConflictingEntries:
      return "conflicting-entries";
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
    case Unrepresentable::PltEntriesMisaligned:
      return "PLT entries do not start at a multiple of their size";
    case Unrepresentable::UnknownInstruction:
      return "call frame instruction is unknown";
    case Unrepresentable::CfaRuleWithoutRegister:
      return "instruction changes a CFA rule that has no register";
    case Unrepresentable::ForeignReturnColumn:
      return "CIE returns by a column that is not the ABI's";
    case Unrepresentable::ConflictingEntries:
      return "FDEs that overlap disagree";
  }
  return {};
}

}  // namespace sframe_gen::emit
