#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

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
