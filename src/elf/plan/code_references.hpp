#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "elf/image.hpp"

/// Searches machine code for instructions that address a section. One file an architecture; each may find an
/// instruction where there is none, since data stand between code, but misses no usual form.
namespace sframe_gen::elf {

/// Bytes of an executable section.
struct Code {
  std::span<const std::byte> bytes;
  std::uint64_t address;  ///< of the first byte
  Endian endian;          ///< of data; AArch64 code is little-endian in all files
};

/// What is searched for: addresses [begin, begin + size).
struct AddressRange {
  std::uint64_t begin;
  std::uint64_t size;

  constexpr bool contains(std::uint64_t address) const { return address - begin < size; }
};

/// An operand that is a distance from the instruction.
bool has_relative_operand_amd64(const Code& code, const AddressRange& wanted);
bool has_relative_operand_aarch64(const Code& code, const AddressRange& wanted);
bool has_relative_operand_s390x(const Code& code, const AddressRange& wanted);

/// An operand or, where the machine has them, a literal that is the address itself.
bool has_absolute_operand_amd64(const Code& code, const AddressRange& wanted);
bool has_absolute_operand_aarch64(const Code& code, const AddressRange& wanted);
bool has_absolute_operand_s390x(const Code& code, const AddressRange& wanted);

/// A word of 8 bytes, aligned to 8, that is such an address.
bool has_address_word(const Code& code, const AddressRange& wanted);

}  // namespace sframe_gen::elf

/// What searching AArch64 code for addresses needs to know of an instruction (Arm Architecture Reference Manual,
/// chapter C4: masks and values of the instruction classes).
namespace sframe_gen::elf::aarch64 {

class Words {
 public:
  explicit Words(const Code& code) : bytes_(code.bytes) {}
  std::size_t count() const { return bytes_.size() / sizeof(std::uint32_t); }
  std::uint32_t operator[](std::size_t index) const {
    return load<std::uint32_t>(bytes_.subspan(index * sizeof(std::uint32_t)), Endian::Little);
  }

 private:
  std::span<const std::byte> bytes_;
};

constexpr bool is_adr(std::uint32_t word) {
  return (word & 0x9f000000) == 0x10000000;
}
constexpr bool is_adrp(std::uint32_t word) {
  return (word & 0x9f000000) == 0x90000000;
}
constexpr bool is_load_literal(std::uint32_t word) {
  return (word & 0x3b000000) == 0x18000000;
}
/// 64 bits, immediate not shifted.
constexpr bool is_add_immediate(std::uint32_t word) {
  return (word & 0xffc00000) == 0x91000000;
}
/// Base and unsigned offset, of any register size.
constexpr bool is_load_or_store(std::uint32_t word) {
  return (word & 0x3b000000) == 0x39000000;
}
/// MOVZ or MOVK.
constexpr bool is_move_wide(std::uint32_t word) {
  return (word & 0x7f800000) == 0x52800000 || (word & 0x7f800000) == 0x72800000;
}

constexpr unsigned destination(std::uint32_t word) {
  return word & 31;
}
constexpr unsigned base(std::uint32_t word) {
  return word >> 5 & 31;
}

/// The signed number in the lowest `bits` bits.
constexpr std::uint64_t sign_extended(std::uint64_t value, unsigned bits) {
  const std::uint64_t sign = std::uint64_t{1} << (bits - 1);
  return (value ^ sign) - sign;
}

/// Of ADR in bytes, of ADRP in pages.
constexpr std::uint64_t adr_distance(std::uint32_t word) {
  return sign_extended((word >> 5 & 0x7ffff) << 2 | (word >> 29 & 3), 21);
}

/// What is added to the base register, if this forms an address from one.
constexpr std::optional<std::uint64_t> offset_from_base(std::uint32_t word) {
  const std::uint64_t immediate = word >> 10 & 0xfff;
  if (is_add_immediate(word)) return immediate;
  if (!is_load_or_store(word)) return {};
  const bool is_quad = (word & 0x04800000) == 0x04800000 && word >> 30 == 0;
  return immediate << (is_quad ? 4 : word >> 30);
}

/// Whether it surely puts a new value into the 64-bit register, of the forms that compilers use most; MOVK keeps a
/// part.
constexpr bool replaces(std::uint32_t word, unsigned reg) {
  const bool is_add_or_subtract = (word & 0x1f800000) == 0x11000000;
  const bool is_logical = (word & 0x1f000000) == 0x0a000000;
  const bool is_move = (word & 0x7f800000) == 0x52800000 || (word & 0x7f800000) == 0x12800000;
  const bool is_load = (word & 0x3fc00000) == 0x39400000;
  return destination(word) == reg &&
         (is_adr(word) || is_adrp(word) || is_add_or_subtract || is_logical || is_move || is_load);
}

/// Where an instruction leads, besides to the one behind it. Calls come back.
struct Branch {
  bool ends = false;                        ///< never goes on behind itself
  bool is_unknown = false;                  ///< leads where a register says
  std::optional<std::uint64_t> distance{};  ///< in instructions, modulo 2^64
};

constexpr Branch branch_of(std::uint32_t word) {
  if ((word & 0xfc000000) == 0x14000000) return {true, false, sign_extended(word & 0x3ffffff, 26)};
  const bool is_conditional = (word & 0xff000000) == 0x54000000 || (word & 0x7e000000) == 0x34000000;
  if (is_conditional) return {false, false, sign_extended(word >> 5 & 0x7ffff, 19)};
  if ((word & 0x7e000000) == 0x36000000) return {false, false, sign_extended(word >> 5 & 0x3fff, 14)};
  if ((word & 0xfe1f0000) != 0xd61f0000) return {};
  // BR, BLR, RET and ERET, with authentication or without.
  const unsigned operation = word >> 21 & 7;
  return {operation != 1, operation == 0};
}

/// Follows the page that ADRP forms to the instructions that make an address of it. Compilers schedule those away from
/// it, behind branches and at the heads of loops; the same register and low bits anywhere near would be found by chance
/// in one static program of a hundred.
class PageUse {
 public:
  explicit PageUse(const Words& words);

  /// Whether an instruction that is reached from the ADRP at the index, with the page still in its register, makes an
  /// address in `wanted` of it. Where a register says what is reached, any instruction near counts. Also true where
  /// ADRPs have had more followed than eight times the code, or more looked at near them than 64 times the code
  /// and what is near 1,024 of them: that bounds time.
  bool makes_address(std::size_t adrp, std::uint64_t page, const AddressRange& wanted);

 private:
  enum class Reached { No, Yes, Unknown };

  Reached follow(std::size_t adrp, std::uint64_t page, const AddressRange& wanted);
  bool is_made_nearby(std::size_t adrp, std::uint64_t page, const AddressRange& wanted);

  const Words words_;
  std::size_t budget_;                ///< instructions that may yet be followed
  std::size_t near_budget_;           ///< instructions near ADRPs that may yet be looked at
  std::vector<bool> is_seen_;         ///< per instruction, in this search
  std::vector<std::size_t> seen_;     ///< those that are
  std::vector<std::size_t> pending_;  ///< where paths begin that have not been followed
};

}  // namespace sframe_gen::elf::aarch64
