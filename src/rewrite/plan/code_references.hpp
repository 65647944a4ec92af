#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "sframe_gen/format.hpp"
#include "support/endian.hpp"
#include "support/range.hpp"

namespace sframe_gen::rewrite {

/// Bytes of an executable section.
struct CodeBytes {
  std::span<const std::byte> bytes;
  std::uint64_t address;  ///< of the first byte
  Endian endian;          ///< of data; AArch64 code is little-endian in all files
};

/// What a search for one address may yet take, in instructions of AArch64: those that ADRPs are followed through, and
/// those that are looked at near them. A file's sections have it in common, whatever their number.
struct SearchBudget {
  explicit SearchBudget(std::uint64_t code_size);
  std::uint64_t followed, near;
};

/// Whether an operand is the distance from the instruction to an address in `wanted`. Also true if the budget ends.
bool has_relative_operand(sframe::Abi abi, const CodeBytes& code, const Range& wanted, SearchBudget& budget);

/// Whether an operand or, where the machine has them, a literal is itself an address in `wanted`.
bool has_absolute_operand(sframe::Abi abi, const CodeBytes& code, const Range& wanted);

/// Whether a word of 8 bytes, aligned to 8, is such an address.
bool has_address_word(const CodeBytes& code, const Range& wanted);

/// Finds the distance in a function that does nothing but return `address`, by the distance to it, and a size: where in
/// the code it is, 4 bytes that count from the end of their instruction. Known on x86-64 only.
std::optional<std::size_t> distance_returned(sframe::Abi abi, const CodeBytes& function, std::uint64_t address);

}  // namespace sframe_gen::rewrite
