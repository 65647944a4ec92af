#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <variant>
#include <vector>

#include "cfi/dwarf.hpp"
#include "support/hash.hpp"

/// The unwind table's rules (DWARF 5, section 6.4.1), in a normal form: rules that mean the same compare equal,
/// whether an instruction or an expression said them.
namespace sframe_gen::cfi {

/// base + offset, or *(base + offset).
///   offset(N)            *(CFA + N)          val_offset(N)   CFA + N
///   register(R)          R + 0               expression of breg R N      *(R + N)
///   def_cfa R, N         R + N               val_expression of breg R N    R + N
struct Formula {
  std::optional<DwarfRegister> base;  ///< without a value: the CFA
  std::int64_t offset = 0;
  bool dereferenced = false;
  friend bool operator==(const Formula&, const Formula&) = default;
};

/// base + offset + (pc % entry_size >= threshold ? 8 : 0): what GNU ld says of the entries of a lazy PLT.
struct PltStub {
  DwarfRegister base;
  std::int64_t offset = 0;
  std::uint8_t threshold = 0;  ///< bytes from the start of an entry
  friend bool operator==(const PltStub&, const PltStub&) = default;
};
inline constexpr std::uint8_t plt_entry_size = 16;  ///< bytes; the `lit15 and` of the expression
inline constexpr std::int64_t plt_push_size = 8;    ///< bytes; the `lit3 shl` of the expression

/// No instruction has set the rule.
struct Unspecified {
  friend bool operator==(const Unspecified&, const Unspecified&) = default;
};
/// The caller's value is lost; as RA rule: there is no caller.
struct Undefined {
  friend bool operator==(const Undefined&, const Undefined&) = default;
};
/// The caller's value is still in the register.
struct SameValue {
  friend bool operator==(const SameValue&, const SameValue&) = default;
};
/// An expression that is no Formula.
struct OtherExpression {
  friend bool operator==(const OtherExpression&, const OtherExpression&) = default;
};

/// Why a row cannot be known at all, whatever the format could say.
enum class UnknownReason : std::uint8_t {
  UnknownInstruction,      ///< an opcode without meaning on this machine, or a CIE that restores a column of ours
  MalformedFde,            ///< the instructions of FDE or CIE cannot be followed
  UnknownAugmentation,     ///< the CIE's augmentation string has a letter that may mean anything
  CfaRuleWithoutRegister,  ///< def_cfa_offset or def_cfa_register while the CFA rule is no register and offset
  ForeignReturnColumn,     ///< the CIE returns by another column than the ABI's
  ConflictingFdes,         ///< several FDEs describe the PCs and disagree
  UnknownStub,             ///< in a section of stubs, but none whose instructions are known
};

using CfaRule = std::variant<Unspecified, Formula, PltStub, OtherExpression, UnknownReason>;
using RegisterRule = std::variant<Unspecified, Undefined, SameValue, Formula, OtherExpression>;

/// Whether the return address is signed (DWARF for the Arm 64-bit Architecture, section 4.1).
enum class Signing : std::uint8_t {
  Plain,
  Signed,
  Unknown,  ///< signed with the PC, or an expression says whether: SFrame has no word for either
};

struct Rules {
  CfaRule cfa;
  RegisterRule stack_pointer, frame_pointer, return_address;
  Signing signing = Signing::Plain;
  friend bool operator==(const Rules& a, const Rules& b) {
    return a.signing == b.signing && same(a.cfa, b.cfa) && same(a.frame_pointer, b.frame_pointer) &&
           same(a.return_address, b.return_address) && same(a.stack_pointer, b.stack_pointer);
  }

 private:
  /// As std::variant's ==, which goes through a table of functions; rows are compared by the million, and nearly all
  /// rules are formulas.
  template <typename Rule>
  static bool same(const Rule& a, const Rule& b) {
    if (a.index() != b.index()) return false;
    const auto* formula = std::get_if<Formula>(&a);
    return formula != nullptr ? *formula == *std::get_if<Formula>(&b) : a == b;
  }
};

/// Holds from `pc_offset` (bytes from the start of the function) to the next row, or to the function's end.
struct FrameRow {
  std::uint64_t pc_offset = 0;
  Rules rules;
  friend bool operator==(const FrameRow&, const FrameRow&) = default;
};

namespace rule_hash {

inline std::uint64_t with(std::uint64_t hash, const Formula& formula) {
  const std::uint64_t base = formula.base ? static_cast<std::uint64_t>(*formula.base) + 1 : 0;
  return chained(chained(hash, base * 2 + (formula.dereferenced ? 1 : 0)), static_cast<std::uint64_t>(formula.offset));
}
inline std::uint64_t with(std::uint64_t hash, const PltStub& stub) {
  return chained(chained(hash, static_cast<std::uint64_t>(stub.base) * 256 + stub.threshold),
                 static_cast<std::uint64_t>(stub.offset));
}
inline std::uint64_t with(std::uint64_t hash, UnknownReason reason) {
  return chained(hash, static_cast<std::uint64_t>(reason));
}
/// The others are words of one meaning each.
template <typename Word>
std::uint64_t with(std::uint64_t hash, const Word&) {
  return hash;
}

template <typename... Words>
std::uint64_t with(std::uint64_t hash, const std::variant<Words...>& rule) {
  const std::uint64_t kind = chained(hash, rule.index());
  return std::visit([kind](const auto& value) { return with(kind, value); }, rule);
}

}  // namespace rule_hash

/// Equal rules have equal hashes of one seed.
inline std::uint64_t hash_of(const Rules& rules, std::uint64_t seed = seed_of_run()) {
  std::uint64_t hash = chained(seed, static_cast<std::uint64_t>(rules.signing));
  hash = rule_hash::with(hash, rules.cfa);
  hash = rule_hash::with(hash, rules.stack_pointer);
  hash = rule_hash::with(hash, rules.frame_pointer);
  return rule_hash::with(hash, rules.return_address);
}

/// Stands for rules of one NumberedRules.
enum class RuleNumber : std::uint32_t {};

/// Numbers rules, equal ones alike: a file's millions of rows say a few hundred different things, and a number is
/// compared, copied and looked up in a fraction of the time.
class NumberedRules {
 public:
  RuleNumber number_of(const Rules& rules);
  /// Valid until the next rules get a number.
  const Rules& operator[](RuleNumber number) const { return rules_[static_cast<std::size_t>(number)]; }
  std::size_t size() const { return rules_.size(); }

  /// No compiler makes so many. Whoever wants to be bounded in memory calls this where no number is in use.
  void forget_if_many();
  void forget();
  /// Another value: earlier numbers mean nothing any more.
  std::uint32_t generation() const { return generation_; }

 private:
  std::vector<Rules> rules_;
  HashedNumbers numbers_;
  std::uint32_t generation_ = 0;
};

/// The unwind table of one function (of several, where their FDEs overlap).
struct FunctionFrames {
  std::uint64_t start = 0;  ///< virtual address
  std::uint64_t size = 0;   ///< bytes, not zero
  bool signal_frame = false;
  std::vector<FrameRow> rows;    ///< ascending, the first at offset 0, neighbours differ
  bool b_key = false;            ///< return addresses are signed with key B (aarch64)
  std::uint8_t repeat_size = 0;  ///< bytes after which the rows start over, as in a table of stubs; 0: they do not
  friend bool operator==(const FunctionFrames&, const FunctionFrames&) = default;
};

/// A FrameRow with its rules by number.
struct NumberedRow {
  std::uint64_t pc_offset = 0;
  RuleNumber rules{};
  friend bool operator==(const NumberedRow&, const NumberedRow&) = default;
};

/// FunctionFrames with rules by number: what functions are by the hundred thousand.
struct NumberedFrames {
  std::uint64_t start = 0;
  std::uint64_t size = 0;
  bool signal_frame = false;
  std::vector<NumberedRow> rows;
  bool b_key = false;
  std::uint8_t repeat_size = 0;
};

std::vector<FrameRow> spelled_out(const std::vector<NumberedRow>& rows, const NumberedRules& rules);
FunctionFrames spelled_out(const NumberedFrames& function, const NumberedRules& rules);
NumberedFrames numbered(const FunctionFrames& function, NumberedRules& rules);

}  // namespace sframe_gen::cfi
