#include "emit/default_form.hpp"

/// What default descriptors can say (SFrame V3, sections 3.1.1 to 3.1.3).
namespace sframe_gen::emit {

namespace {

bool is_stack_slot(const sframe::Rule& rule) {
  return !rule.base_register && rule.dereferenced;
}

/// Up to version 2, s390x rows say "in that register" by an odd word; an odd offset would read as one.
bool has_register_words(const Dialect& dialect) {
  return dialect.abi->abi == sframe::Abi::S390x && dialect.version->has_register_words;
}

std::optional<Unrepresentable> obstacle_to_word(const sframe::Rule& rule, Unrepresentable needs_flexible,
                                                const Dialect& dialect) {
  if (is_stack_slot(rule)) {
    const bool reads_as_register = has_register_words(dialect) && rule.offset % 2 != 0;
    return reads_as_register ? std::optional(Unrepresentable::OffsetUnaligned) : std::nullopt;
  }
  const bool in_register = rule.base_register && !rule.dereferenced && rule.offset == 0;
  return in_register && has_register_words(dialect) ? std::nullopt : std::optional(needs_flexible);
}

std::optional<Unrepresentable> obstacle_to_return_address(const sframe::RecoveryRules& recovery,
                                                          const Dialect& dialect) {
  const auto& rule = recovery.return_address;
  if (!rule) return std::nullopt;
  if (!dialect.abi->tracks_return_address) return Unrepresentable::ReturnAddressNeedsFlexible;
  // Offset 0 stands for "not saved" on s390x; readers know that value on aarch64 too.
  if (is_stack_slot(*rule) && rule->offset == 0) return Unrepresentable::ReturnAddressNeedsFlexible;
  if (dialect.version->frame_pointer_first && !recovery.frame_pointer)
    return Unrepresentable::ReturnAddressWithoutFramePointer;
  return obstacle_to_word(*rule, Unrepresentable::ReturnAddressNeedsFlexible, dialect);
}

std::optional<Unrepresentable> obstacle_to_frame_pointer(const sframe::RecoveryRules& recovery,
                                                         const Dialect& dialect) {
  const auto& rule = recovery.frame_pointer;
  if (!rule) return std::nullopt;
  const bool word_before_it = dialect.abi->tracks_return_address && !dialect.version->frame_pointer_first;
  if (word_before_it && !recovery.return_address && !dialect.abi->pads_return_address)
    return Unrepresentable::FramePointerWithoutReturnAddress;
  return obstacle_to_word(*rule, Unrepresentable::FramePointerNeedsFlexible, dialect);
}

}  // namespace

std::optional<Unrepresentable> obstacle_to_default(const sframe::RecoveryRules& recovery, const Dialect& dialect) {
  const sframe::Rule& cfa = recovery.cfa;
  const bool on_sp = cfa.base_register == dialect.abi->stack_pointer;
  const bool on_fp = cfa.base_register == dialect.abi->frame_pointer;
  if ((!on_sp && !on_fp) || cfa.dereferenced) return Unrepresentable::CfaNeedsFlexible;
  const auto obstacle = obstacle_to_return_address(recovery, dialect);
  return obstacle ? obstacle : obstacle_to_frame_pointer(recovery, dialect);
}

}  // namespace sframe_gen::emit
