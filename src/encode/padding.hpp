#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
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

/// What one thread has read of a file last. A gap is a few bytes, and nearly each is in a page of its own: to map these
/// pages takes five times as long as to read them, and what is mapped counts as memory.
class CodeWindow {
 public:
  /// Null: the bytes are in memory, and nothing is read.
  explicit CodeWindow(const MappedFile* file) : file_(file) {}

  /// Returns what `mapped`, a part of the file's mapping, holds, until the next call. Quickest in ascending order.
  /// Throws SystemFailure.
  std::span<const std::byte> read(std::span<const std::byte> mapped);

 private:
  const MappedFile* file_;
  std::unique_ptr<std::byte[]> buffer_;
  std::uint64_t begin_ = 0, end_ = 0;  ///< of what is in it; offsets in the file
};

/// The gaps between a file's functions. Sections of linked code that follow each other in a segment (.init, .plt,
/// .text, .fini) count as one: their addresses do not change any more. Without section headers, so do the bytes of an
/// executable segment that no other table takes.
class CodeGaps {
 public:
  CodeGaps(const elf::Image& image, sframe::Abi abi);

  /// Returns whether [begin, end), which belongs to no FDE, is padding, or empty, with code on both sides. Where a
  /// symbol or the entry point says that a function starts, there is none. Throws SystemFailure.
  bool is_padding(std::uint64_t begin, std::uint64_t end, CodeWindow& window) const;
  /// Returns a window for is_padding, for one thread.
  CodeWindow window() const { return CodeWindow(file_); }

  /// Returns whether the code before `end` ends in a call.
  bool ends_in_call(std::uint64_t end) const;

  /// Returns the memory that the file's mapping takes. It may be read again.
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
