#include "emit/dialect.hpp"

#include <algorithm>
#include <limits>

#include "sframe_gen/error.hpp"

namespace sframe_gen::emit {

namespace {

bool writes_flexible(const OutputFormat& format, sframe::Abi abi) {
  if (!sframe::traits_of(format.version).has_flexible_fdes) return false;
  const bool aarch64 = abi == sframe::Abi::Aarch64Big || abi == sframe::Abi::Aarch64Little;
  return format.flexible == FlexibleDescriptors::Auto ? !aarch64 : format.flexible == FlexibleDescriptors::Always;
}

}  // namespace

Dialect make_dialect(const OutputFormat& format, sframe::Abi abi, const std::string& file) {
  const sframe::VersionTraits& version = sframe::traits_of(format.version);
  const sframe::AbiTraits& traits = sframe::traits_of(abi);
  if (!sframe::has_abi(version, traits)) {
    throw Refused(
        file, "for " + std::string(traits.name) + ", which " + std::string(version.name) + " has no identifier for");
  }
  if (traits.came_with_erratum && version.version == traits.first_version && !format.pc_relative_starts) {
    throw Refused(file, "for " + std::string(traits.name) + ", which " + std::string(version.name) +
                            " supports only since the errata that made function starts relative to their own field");
  }
  Dialect dialect;
  dialect.abi = &traits;
  dialect.version = &version;
  dialect.pc_relative_starts =
      version.version == sframe::Version::V3 || (version.version == sframe::Version::V2 && format.pc_relative_starts);
  // Version 1 and CTF Frame never gave a row without data words a meaning.
  dialect.undefined_ra_rows = version.has_repeat_size && format.undefined_ra_rows;
  dialect.flexible_descriptors = writes_flexible(format, abi);
  dialect.most_rows = static_cast<std::uint32_t>(std::min<std::uint64_t>(format.most_rows, version.largest_fre_count));
  dialect.covers_padding = format.covers_padding;
  dialect.compact_rows = std::min(format.compact_rows, most_compact_rows);
  dialect.shares_rows = format.shared_rows == SharedRows::Always ||
                        (format.shared_rows == SharedRows::LittleEndian && dialect.abi->endian == Endian::Little);
  return dialect;
}

// What default descriptors can say (SFrame V3, sections 3.1.1 to 3.1.3).
namespace {

bool is_stack_slot(const sframe::Rule& rule) {
  return !rule.base_register && rule.dereferenced;
}

std::optional<Unrepresentable> why_not_word(const sframe::Rule& rule, Unrepresentable needs_flexible,
                                            const Dialect& dialect) {
  if (is_stack_slot(rule)) {
    const bool reads_as_register = sframe::has_register_words(*dialect.version, *dialect.abi) && rule.offset % 2 != 0;
    return reads_as_register ? std::optional(Unrepresentable::OffsetUnaligned) : std::nullopt;
  }
  const bool in_register = rule.base_register && !rule.dereferenced && rule.offset == 0;
  return in_register && sframe::has_register_words(*dialect.version, *dialect.abi) ? std::nullopt
                                                                                   : std::optional(needs_flexible);
}

std::optional<Unrepresentable> why_not_return_address(const sframe::RecoveryRules& recovery, const Dialect& dialect) {
  const auto& rule = recovery.return_address;
  if (!rule) return std::nullopt;
  if (!dialect.abi->tracks_return_address) return Unrepresentable::ReturnAddressNeedsFlexible;
  // Offset 0 stands for "not saved" on s390x; readers know that value on aarch64 too.
  if (is_stack_slot(*rule) && rule->offset == 0) return Unrepresentable::ReturnAddressNeedsFlexible;
  if (dialect.version->frame_pointer_first && !recovery.frame_pointer)
    return Unrepresentable::ReturnAddressWithoutFramePointer;
  return why_not_word(*rule, Unrepresentable::ReturnAddressNeedsFlexible, dialect);
}

std::optional<Unrepresentable> why_not_frame_pointer(const sframe::RecoveryRules& recovery, const Dialect& dialect) {
  const auto& rule = recovery.frame_pointer;
  if (!rule) return std::nullopt;
  const bool word_before_it = dialect.abi->tracks_return_address && !dialect.version->frame_pointer_first;
  if (word_before_it && !recovery.return_address && !dialect.abi->pads_return_address)
    return Unrepresentable::FramePointerWithoutReturnAddress;
  // Linux, which reads version 3 only, takes offset 0 for "not saved". A flexible row has a control word to tell them
  // apart.
  if (is_stack_slot(*rule) && rule->offset == 0 && dialect.version->has_flexible_fdes)
    return Unrepresentable::FramePointerNeedsFlexible;
  return why_not_word(*rule, Unrepresentable::FramePointerNeedsFlexible, dialect);
}

/// A rule, no rule needed (the register is unchanged, or at the ABI's fixed place), or the reason.
using RepresentedRule = std::variant<std::optional<sframe::Rule>, Unrepresentable>;

bool fits_in_word(std::int64_t offset) {
  return offset >= std::numeric_limits<std::int32_t>::min() && offset <= std::numeric_limits<std::int32_t>::max();
}

cfi::DwarfRegister column(std::uint32_t number) {
  return static_cast<cfi::DwarfRegister>(number);
}

Unrepresentable reason_of(cfi::UnknownReason unknown) {
  switch (unknown) {
    case cfi::UnknownReason::UnknownInstruction:
      return Unrepresentable::UnknownInstruction;
    case cfi::UnknownReason::MalformedFde:
      return Unrepresentable::MalformedEntry;
    case cfi::UnknownReason::UnknownAugmentation:
      return Unrepresentable::UnknownAugmentation;
    case cfi::UnknownReason::CfaRuleWithoutRegister:
      return Unrepresentable::CfaRuleWithoutRegister;
    case cfi::UnknownReason::ForeignReturnColumn:
      return Unrepresentable::ForeignReturnColumn;
    case cfi::UnknownReason::ConflictingFdes:
      return Unrepresentable::ConflictingEntries;
    case cfi::UnknownReason::UnknownStub:
      return Unrepresentable::UnknownStub;
    case cfi::UnknownReason::GoSwitchesStacks:
      return Unrepresentable::GoSwitchesStacks;
    case cfi::UnknownReason::GoNotCalled:
      return Unrepresentable::GoNotCalled;
    case cfi::UnknownReason::GoRegisters:
      return Unrepresentable::GoRegisters;
    case cfi::UnknownReason::GoInstructions:
      return Unrepresentable::GoInstructions;
    case cfi::UnknownReason::ContradictedByCode:
      return Unrepresentable::ContradictedByCode;
  }
  return Unrepresentable::UnknownInstruction;
}

/// Represents the rules of one row whose CFA is a formula, in normal form. SFrame's CFA is the caller's SP (on s390x,
/// the SP + 160): `rules` count from that.
class RowRepresenter {
 public:
  RowRepresenter(const cfi::Formula& cfa, const cfi::Rules& rules, const Dialect& dialect)
      : cfa_(cfa), rules_(rules), dialect_(dialect), abi_(*dialect.abi) {}

  Representation represent() const {
    const auto cfa = represent_cfa();
    if (const auto* reason = std::get_if<Unrepresentable>(&cfa)) return *reason;
    if (rules_.signing == cfi::Signing::Unknown) return Unrepresentable::SigningUnknown;
    const bool is_signed = rules_.signing == cfi::Signing::Signed;
    if (is_signed && !dialect_.version->has_mangled_ra) return Unrepresentable::SignedReturnAddress;
    const RepresentedRule return_address = represent_return_address();
    if (const auto* reason = std::get_if<Unrepresentable>(&return_address)) return *reason;
    const RepresentedRule frame_pointer = represent_frame_pointer();
    if (const auto* reason = std::get_if<Unrepresentable>(&frame_pointer)) return *reason;
    const sframe::RecoveryRules recovery{std::get<sframe::Rule>(cfa),
                                         std::get<std::optional<sframe::Rule>>(return_address),
                                         std::get<std::optional<sframe::Rule>>(frame_pointer), is_signed};
    if (dialect_.flexible_descriptors) return recovery;
    const auto reason = why_not_default(recovery, dialect_);
    return reason ? Representation(*reason) : Representation(recovery);
  }

 private:
  std::variant<sframe::Rule, Unrepresentable> represent_formula(const cfi::Formula& formula,
                                                                Unrepresentable bad_base) const {
    if (formula.base && !sframe::is_machine_register(abi_, static_cast<std::uint32_t>(*formula.base))) return bad_base;
    if (!fits_in_word(formula.offset)) return Unrepresentable::OffsetTooLarge;
    sframe::Rule rule{std::nullopt, static_cast<std::int32_t>(formula.offset), formula.dereferenced};
    if (formula.base) rule.base_register = static_cast<std::uint32_t>(*formula.base);
    return rule;
  }

  /// Default and flexible rows store the CFA's offset in the ABI's unit alike.
  std::variant<sframe::Rule, Unrepresentable> represent_cfa() const {
    const auto rule = represent_formula(cfa_, Unrepresentable::CfaBaseIsNoRegister);
    if (std::holds_alternative<Unrepresentable>(rule)) return rule;
    if (!sframe::word_of_cfa_offset(cfa_.offset, abi_)) return Unrepresentable::OffsetUnaligned;
    return rule;
  }

  RepresentedRule represent_saved(const cfi::Formula& formula) const {
    // CFA + N has no control word of its own (it would be 0, which is padding).
    if (!formula.base && !formula.dereferenced) return Unrepresentable::ValueIsCfaPlusOffset;
    const auto rule = represent_formula(formula, Unrepresentable::RuleBaseIsNoRegister);
    if (const auto* reason = std::get_if<Unrepresentable>(&rule)) return *reason;
    return std::get<sframe::Rule>(rule);
  }

  RepresentedRule represent_return_address() const {
    const cfi::RegisterRule& rule = rules_.return_address;
    if (std::holds_alternative<cfi::OtherExpression>(rule)) return Unrepresentable::ReturnAddressIsExpression;
    const auto* formula = std::get_if<cfi::Formula>(&rule);
    if (abi_.tracks_return_address) {
      const cfi::Formula itself{column(abi_.return_address), 0, false};
      if (formula == nullptr || *formula == itself) return std::nullopt;
      return represent_saved(*formula);
    }
    if (formula == nullptr) return Unrepresentable::ReturnAddressUnspecified;
    const cfi::Formula fixed_place{std::nullopt, abi_.fixed_ra_offset, true};
    if (*formula == fixed_place) return std::nullopt;
    return represent_saved(*formula);
  }

  RepresentedRule represent_frame_pointer() const {
    const cfi::RegisterRule& rule = rules_.frame_pointer;
    if (std::holds_alternative<cfi::Undefined>(rule)) return Unrepresentable::FramePointerUndefined;
    if (std::holds_alternative<cfi::OtherExpression>(rule)) return Unrepresentable::FramePointerIsExpression;
    const auto* formula = std::get_if<cfi::Formula>(&rule);
    const cfi::Formula itself{column(abi_.frame_pointer), 0, false};
    if (formula == nullptr || *formula == itself) return std::nullopt;
    return represent_saved(*formula);
  }

  const cfi::Formula& cfa_;
  const cfi::Rules& rules_;
  const Dialect& dialect_;
  const sframe::AbiTraits& abi_;
};

/// The caller's SP where it is another value than SFrame takes it to be, CFA + bias. An explicit rule may say the same,
/// as in glibc's __restore_rt for x86-64, where both are *(rsp + 160), or name the slot the ABI keeps it in.
std::variant<std::optional<cfi::Formula>, Unrepresentable> other_stack_pointer(const cfi::Rules& rules,
                                                                               const sframe::AbiTraits& abi) {
  if (std::holds_alternative<cfi::Unspecified>(rules.stack_pointer)) return std::nullopt;
  const bool same_value = std::holds_alternative<cfi::SameValue>(rules.stack_pointer);
  const cfi::Formula itself{column(abi.stack_pointer), 0, false};
  const auto* rule = same_value ? &itself : std::get_if<cfi::Formula>(&rules.stack_pointer);
  if (rule == nullptr) return Unrepresentable::StackPointerRestoredElsewhere;
  if (abi.stack_pointer_slot != 0 && *rule == cfi::Formula{std::nullopt, abi.stack_pointer_slot, true})
    return std::nullopt;
  const cfi::Rules usual{rules.cfa, cfi::Formula{std::nullopt, abi.stack_pointer_bias, false}, {}, {}};
  if (*rule == std::get<cfi::Formula>(cfi::normal_form(usual).stack_pointer)) return std::nullopt;
  // libgcc takes it for no rule, as if the CFA were meant; the words say that the caller's SP is ours.
  if (same_value) return Unrepresentable::StackPointerRestoredElsewhere;
  return *rule;
}

Representation represent_row(const cfi::Rules& written, const Dialect& dialect) {
  const cfi::Rules rules = cfi::normal_form(written);
  const auto other = other_stack_pointer(rules, *dialect.abi);
  if (const auto* reason = std::get_if<Unrepresentable>(&other)) return *reason;
  const auto& stack_pointer = std::get<std::optional<cfi::Formula>>(other);
  if (!stack_pointer) return RowRepresenter(std::get<cfi::Formula>(rules.cfa), rules, dialect).represent();
  const auto counted = cfi::counted_from_stack_pointer(rules, *stack_pointer, dialect.abi->stack_pointer_bias);
  if (!counted) return Unrepresentable::StackPointerRestoredElsewhere;
  return RowRepresenter(std::get<cfi::Formula>(counted->cfa), *counted, dialect).represent();
}

/// The expression stands for two plain rows, so all other columns must be as at a function's entry, and mean the same
/// before the push and after it.
Representation represent_plt(const cfi::PltStub& stub, const cfi::Rules& rules, const Dialect& dialect) {
  if (!dialect.abi->return_address_is_pc || stub.base != column(dialect.abi->stack_pointer))
    return Unrepresentable::CfaIsExpression;
  PltEntries entries{{}, {}, stub.threshold};
  for (const bool pushed : {false, true}) {
    cfi::Rules row = rules;
    cfi::Formula cfa{stub.base, stub.offset, false};
    if (__builtin_add_overflow(cfa.offset, pushed ? cfi::plt_push_size : 0, &cfa.offset))
      return Unrepresentable::OffsetTooLarge;
    row.cfa = cfa;
    const Representation represented = represent_row(row, dialect);
    const auto* recovery = std::get_if<sframe::RecoveryRules>(&represented);
    if (recovery == nullptr) return represented;
    if (recovery->cfa.offset != cfa.offset) return Unrepresentable::StackPointerRestoredElsewhere;
    if (why_not_default(*recovery, dialect) || recovery->frame_pointer) return Unrepresentable::CfaIsExpression;
    (pushed ? entries.after : entries.before) = *recovery;
  }
  return entries;
}

}  // namespace

std::optional<Unrepresentable> why_not_default(const sframe::RecoveryRules& recovery, const Dialect& dialect) {
  const sframe::Rule& cfa = recovery.cfa;
  const bool on_sp = cfa.base_register == dialect.abi->stack_pointer;
  const bool on_fp = cfa.base_register == dialect.abi->frame_pointer;
  if ((!on_sp && !on_fp) || cfa.dereferenced) return Unrepresentable::CfaNeedsFlexible;
  const auto reason = why_not_return_address(recovery, dialect);
  return reason ? reason : why_not_frame_pointer(recovery, dialect);
}

Representation represent(const cfi::Rules& rules, const Dialect& dialect) {
  if (const auto* unknown = std::get_if<cfi::UnknownReason>(&rules.cfa)) return reason_of(*unknown);
  // Nothing else matters where there is no caller.
  if (std::holds_alternative<cfi::Undefined>(rules.return_address)) {
    return dialect.undefined_ra_rows ? Representation(Outermost{})
                                     : Representation(Unrepresentable::ReturnAddressUndefined);
  }
  if (std::holds_alternative<cfi::Unspecified>(rules.cfa)) return Unrepresentable::CfaUnspecified;
  if (std::holds_alternative<cfi::OtherExpression>(rules.cfa)) return Unrepresentable::CfaIsExpression;
  if (const auto* stub = std::get_if<cfi::PltStub>(&rules.cfa)) return represent_plt(*stub, rules, dialect);
  return represent_row(rules, dialect);
}

}  // namespace sframe_gen::emit
