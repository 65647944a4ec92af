#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "elf/image.hpp"
#include "sframe_gen/format.hpp"

namespace sframe_gen::encode {

/// Returns how many bytes `code` begins with that compilers, assemblers and linkers fill gaps between functions with:
/// instructions that do nothing, int3, and zeros if `zeros_are_padding`. Checks each byte of each instruction.
///
///   x86-64   90, 66 90, 0f 1f /0 of every length, after any number of 66 and 2e; cc
///   aarch64  nop
///   s390x    nopr (07 0x), nop (47 0x), jnop (a7 04), jgnop (c0 04)
std::size_t padding_before(std::span<const std::byte> code, sframe::Abi abi, bool zeros_are_padding);

/// The gaps between a file's functions. Sections of linked code that follow each other in a segment (.init, .plt,
/// .text, .fini) count as one: their addresses do not change any more. Without section headers, so do the bytes of an
/// executable segment that no other table takes.
class CodeGaps {
 public:
  CodeGaps(const elf::Image& image, sframe::Abi abi);

  /// Returns whether [begin, end), which belongs to no FDE, is padding, or empty, with code on both sides. Where a
  /// symbol or the entry point says that a function starts, there is none.
  bool is_padding(std::uint64_t begin, std::uint64_t end) const;

  /// Returns whether the code before `end` ends in a call.
  bool ends_in_call(std::uint64_t end) const;

  /// Returns the memory that reading the gaps took. They may be read again.
  void drop_pages() const;

 private:
  struct Code {
    std::uint64_t begin, end;  ///< virtual addresses
    std::span<const std::byte> bytes;
  };
  const MappedFile* file_;                      ///< null for bytes in memory
  std::vector<Code> code_;                      ///< ascending
  RangeSet places_;                             ///< of all of it
  std::vector<std::uint64_t> function_starts_;  ///< ascending
  sframe::Abi abi_;
  bool zeros_are_padding_;
};

}  // namespace sframe_gen::encode
