#pragma once

#include <cstdint>
#include <string_view>

namespace sframe_gen::emit {

/// Why PCs have no SFrame row. Not an error: the report counts and names them.
enum class Unrepresentable : std::uint8_t {
  CfaUnspecified,
  CfaIsExpression,
  CfaBaseIsNoRegister,
  OffsetTooLarge,
  ReturnAddressUnspecified,
  ReturnAddressIsExpression,
  FramePointerUndefined,
  FramePointerIsExpression,
  ValueIsCfaPlusOffset,
  RuleBaseIsNoRegister,
  StackPointerRestoredElsewhere,
  UnknownInstruction,
  CfaRuleWithoutRegister,
  ForeignReturnColumn,
  ConflictingEntries,
  // What the version, or its readers on that machine, leave no form for.
  CfaNeedsFlexible,
  ReturnAddressNeedsFlexible,
  FramePointerNeedsFlexible,
  FramePointerWithoutReturnAddress,
  ReturnAddressWithoutFramePointer,
  ReturnAddressUndefined,
  OffsetUnaligned,
  SignalFrame,
  SignedReturnAddress,
  SigningUnknown,
};
inline constexpr std::size_t unrepresentable_count = 25;

/// Stable name for data ("cfa-is-expression").
std::string_view key_of(Unrepresentable reason);
/// One clause for people ("CFA is a DWARF expression").
std::string_view sentence_of(Unrepresentable reason);

}  // namespace sframe_gen::emit
