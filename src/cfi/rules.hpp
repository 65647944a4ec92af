#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <variant>
#include <vector>

#include "sframe_gen/format.hpp"
#include "support/containers.hpp"
#include "support/dwarf_registers.hpp"
#include "support/hash.hpp"

/// The unwind table's rules (DWARF 5, section 6.4.1). A rule is the same whether an instruction or an expression said
/// it.
namespace sframe_gen::cfi {

/// Addresses count modulo 2^64, and so do the offsets of rules.
constexpr std::int64_t wrapping_sum(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
}
constexpr std::int64_t wrapping_difference(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) - static_cast<std::uint64_t>(b));
}

/// A DWARF register number: any may come in, only those the program looks at have names.
enum class DwarfRegister : std::uint32_t {};

/// The columns of the unwind table that SFrame can speak of, and the column the CIE must return by.
struct TrackedRegisters {
  DwarfRegister stack_pointer{};
  DwarfRegister frame_pointer{};
  DwarfRegister return_address{};
  std::optional<DwarfRegister> signing_state = std::nullopt;
  /// Where the CFA is more than what a call leaves in SP: the CFA of a function's entry is SP + this. 0: of no use.
  std::int64_t entry_cfa_offset = 0;

  constexpr explicit TrackedRegisters(const DwarfRegisters& registers)
      : stack_pointer{registers.stack_pointer},
        frame_pointer{registers.frame_pointer},
        return_address{registers.return_address} {
    if (registers.signing_state) signing_state = DwarfRegister{*registers.signing_state};
  }
};

/// Whether rows say anything of this column, or depend on it.
constexpr bool follows(const TrackedRegisters& tracked, DwarfRegister number) {
  return number == tracked.frame_pointer || number == tracked.return_address || number == tracked.stack_pointer ||
         number == tracked.signing_state;
}

namespace amd64 {
inline constexpr TrackedRegisters tracked(amd64_registers);
inline constexpr DwarfRegister rbp = tracked.frame_pointer, rsp = tracked.stack_pointer,
                               return_address = tracked.return_address;
}  // namespace amd64

namespace aarch64 {
inline constexpr TrackedRegisters tracked(aarch64_registers);
}  // namespace aarch64

namespace s390x {
inline constexpr TrackedRegisters tracked = [] {
  TrackedRegisters registers(s390x_registers);
  registers.entry_cfa_offset = 160;  // the register save area (s390x Supplement, section 1.2.2)
  return registers;
}();
}  // namespace s390x

/// Returns the columns of a machine.
const TrackedRegisters& tracked_registers(sframe::Abi abi);

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
  GoSwitchesStacks,        ///< as rows::go::Gap has them, with the three below
  GoNotCalled,
  GoRegisters,
  GoInstructions,
  ContradictedByCode,  ///< the instructions say otherwise
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

/// The number of some rules in a RuleTable. Which number rules get depends on which thread asks first: nothing may be
/// ordered by it.
using RuleId = std::uint32_t;

/// The rules of a conversion, each once. A file's millions of rows have a few hundred different rules, and a number is
/// compared, copied and looked up in a fraction of the time.
class RuleTable {
 public:
  /// Twice what one FDE may have. A file with more is made to exhaust memory: each takes some 250 bytes.
  static constexpr std::size_t most_rules = std::size_t{1} << 19U;

  RuleTable() = default;
  RuleTable(const RuleTable&) = delete;
  RuleTable& operator=(const RuleTable&) = delete;

  /// Returns the number of these rules. Any thread may call it. Throws std::length_error beyond `most_rules`.
  RuleId intern(const Rules& rules);
  /// A thread may ask for what it has interned and for lower numbers, or for what another thread has interned before a
  /// point where both have met.
  const Rules& operator[](RuleId rule) const { return rules_[rule]; }
  /// For when no thread adds rules.
  std::size_t size() const { return rules_.size(); }

 private:
  std::mutex mutex_;
  StableVector<Rules, most_rules> rules_;
  HashedNumbers numbers_;
};

/// What holds from an offset on, to the next row or to the function's end.
struct Row {
  std::uint32_t pc_offset = 0;  ///< bytes from the start of the function
  RuleId rule = 0;
  friend bool operator==(const Row&, const Row&) = default;
};

/// The unwind table of one function (of several, where their FDEs overlap).
struct Function {
  std::uint64_t start = 0;  ///< virtual address
  std::uint64_t size = 0;   ///< bytes, not zero
  bool signal_frame = false;
  std::vector<Row> rows;         ///< ascending, the first at offset 0, neighbors differ
  bool b_key = false;            ///< return addresses are signed with the B key (aarch64)
  std::uint8_t repeat_size = 0;  ///< bytes after which the rows start over, as in a table of stubs; 0: they do not
  std::uint64_t end() const { return start + size; }
  friend bool operator==(const Function&, const Function&) = default;
};

/// The rules of a row of PCs for which none are known.
inline Rules unknown_rules(UnknownReason reason) {
  return {reason, {}, {}, {}};
}

/// Returns the same rules in the terms that SFrame has, where the CFA says more of a rule than the rule itself: a value
/// CFA + N is counted from the CFA's register, and a slot at that register + N from the CFA. Equal rules then compare
/// equal.
Rules normal_form(const Rules& rules);

/// Returns what is left if the caller's SP is said to be the CFA + `bias`, as SFrame takes it: rules in normal form,
/// counted from that CFA. `stack_pointer` is another value than DWARF's CFA + bias, in normal form. Without a value
/// where a rule counts from a CFA that is in memory: once another value takes its name, nothing else leads there.
std::optional<Rules> counted_from_stack_pointer(const Rules& rules, const Formula& stack_pointer, std::int64_t bias);

}  // namespace sframe_gen::cfi
