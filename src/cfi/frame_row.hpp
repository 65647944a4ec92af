#pragma once

#include <cstdint>
#include <optional>
#include <variant>

#include "cfi/dwarf_register.hpp"

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

}  // namespace sframe_gen::cfi
