#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "sframe/format.hpp"
#include "sframe_gen/error.hpp"
#include "sframe_gen/section.hpp"
#include "support/endian.hpp"
#include "verify/libdwarf.hpp"
#include "verify/proofs.hpp"

namespace sframe_gen::verify {

/// Registers and memory as uninterpreted functions, at one PC: every register and every memory word has a made-up
/// value, unlike any other's but always the same. Both sides compute with these values. Two rules are equal if they
/// give equal numbers, however they are spelled.
class SyntheticContext {
 public:
  SyntheticContext(std::uint64_t pc, const sframe::AbiTraits& abi)
      : pc_(pc), pc_column_(abi.return_address_is_pc ? abi.return_address : no_column) {}

  /// `number` is a DWARF register number; a column that stands for the PC holds it, as GNU ld's PLT expression expects.
  std::uint64_t register_value(std::uint64_t number) const {
    if (number != pc_column_) return mix(number + 0x7265670000000000);
    pc_was_read_ = true;
    return pc_;
  }
  /// Checks whether anything that was computed may be otherwise at the next PC.
  bool pc_was_read() const { return pc_was_read_; }
  /// Returns the 64-bit word at `address`.
  std::uint64_t read_memory(std::uint64_t address) const { return mix(address ^ 0x6d656d0000000000); }

 private:
  /// splitmix64's finalizer: a bijection, so different inputs never give the same value.
  static std::uint64_t mix(std::uint64_t value) {
    value += 0x9e3779b97f4a7c15;
    value = (value ^ (value >> 30U)) * 0xbf58476d1ce4e5b9;
    value = (value ^ (value >> 27U)) * 0x94d049bb133111eb;
    return value ^ (value >> 31U);
  }

  static constexpr std::uint64_t no_column = ~std::uint64_t{0};

  std::uint64_t pc_;
  std::uint64_t pc_column_;
  mutable bool pc_was_read_ = false;
};

/// The caller's registers, as numbers in the made-up context, and how they came about in words.
struct Caller {
  bool exists = true;  ///< false: RA undefined, the rest means nothing
  std::optional<std::uint64_t> stack_pointer;
  std::optional<std::uint64_t> frame_pointer;
  std::optional<std::uint64_t> return_address;
  enum class Signing : std::uint8_t { None, KeyA, KeyB, Unknown } signing = Signing::None;  ///< of the return address
  bool depends_on_pc = false;  ///< a rule reads the PC: at the next one the caller may be another, in the same row
  std::string cfa_text;        ///< "rsp+8", "*(rbp-8)", "expression"
  std::string text;            ///< all of it: "CFA rsp+16, RA *(CFA-8), FP *(CFA-16)"
};

/// Whether to make the texts: they cost more than the numbers, and only differences show them.
enum class Wording : std::uint8_t { Numbers, Texts };

/// Checks whether both give the same caller. A value that one side does not know makes them differ.
bool same_caller(const Caller& a, const Caller& b);

/// Returns " (signed with the A key)", or nothing.
std::string text_of(Caller::Signing signing);

/// Returns what libdwarf's evaluation of FDE `fde_index` says at `pc`.
Caller dwarf_caller(const verify::DwarfSession& session, std::size_t fde_index, std::uint64_t pc,
                    const sframe::AbiTraits& abi, StackPointerProofs& proofs, Wording wording = Wording::Texts);

/// Returns what a row of `fde` in `section` says at `pc`.
Caller sframe_caller(const std::optional<sframe::RecoveryRules>& recovery, const sframe::Fde& fde,
                     const sframe::Section& section, std::uint64_t pc, Wording wording = Wording::Texts);

/// Runs a DWARF expression in the context, with `initial` on the stack if given, and returns what is on top at the
/// end; nothing when an operation is none of those call frame information can use (DWARF 5, section 2.5.1) or the
/// stack runs out. Throws MalformedInput for truncated operands, at offsets in the block.
std::optional<std::uint64_t> expression_value(std::span<const std::byte> block, std::optional<std::uint64_t> initial,
                                              const SyntheticContext& context, Endian endian,
                                              const InputOrigin& origin);

}  // namespace sframe_gen::verify
