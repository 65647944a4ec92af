#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "elf/image.hpp"
#include "elf/records.hpp"

namespace sframe_gen::elf {

/// `bytes` bytes put in front of what stood at file offset `at`.
struct Insertion {
  std::uint64_t at;
  std::uint64_t bytes;
  friend bool operator==(const Insertion&, const Insertion&) = default;
};

/// Where a byte of the input file lies in the output: a shift that grows at each insertion.
///
///     input   aaaa|bbbbbbb|cc          insertions at | of 4 and 2 bytes
///     output  aaaa....bbbbbbb..cc
class OffsetMap {
 public:
  void insert(Insertion insertion);
  std::uint64_t operator()(std::uint64_t offset) const;
  /// Sorted by `at`.
  const std::vector<Insertion>& insertions() const { return insertions_; }

 private:
  std::vector<Insertion> insertions_;
};

/// A header that says "these bytes of the file are mine".
struct Claim {
  Range range;
  std::variant<const char*, const Section*, std::uint32_t> owner;  ///< its name, a section, or a segment's type
  bool is_load = false;
};

/// Words the owner for a message.
std::string owner_of(const Claim& claim);

/// The bytes of the file that become the section's contents in memory. Of .bss: those that a PT_LOAD brings to its
/// addresses, which are zero; empty where that is nothing but memory.
Range file_bytes_under(const Image& image, const Section& section);

/// Who uses which byte of the input file, which must outlive it.
///
/// A PT_LOAD that covers the ELF header or the program headers claims nothing: what it holds are sections. All other
/// PT_LOADs claim their bytes. A PT_GNU_SFRAME claims nothing, since it will be rewritten, and PT_GNU_RELRO nothing,
/// since it describes bytes of a PT_LOAD. Released bytes are free and count as zero, whatever the input has there:
/// they are not copied to the output.
class FileSpace {
 public:
  explicit FileSpace(const Image& image);

  /// Drops the claims that lie inside `range`, and the part of a PT_LOAD's claim that ends with it.
  void release(Range range);

  /// The first claim that ends behind `offset`, by its beginning.
  const Claim* next_claim(std::uint64_t offset) const;
  /// A claim that `offset` would split.
  const Claim* claim_across(std::uint64_t offset) const;
  /// Whether the bytes are zero or released. Bytes behind the end of the file are.
  bool is_zero(Range range) const;
  /// As `is_zero`, but patchelf writes X where something stood that it moved.
  bool is_filler(Range range) const;
  /// End of the last byte that has to be kept.
  std::uint64_t end() const;

  const std::vector<Range>& released() const { return released_; }

 private:
  template <typename Predicate>
  bool all_are(Range range, Predicate predicate) const;
  void claim(std::uint64_t begin, std::uint64_t size, decltype(Claim::owner) owner);

  const Image* image_;
  std::vector<Claim> claims_;    ///< sorted by their beginning
  std::vector<Range> released_;  ///< sorted, may touch
  std::uint64_t header_segments_end_ = 0;
};

}  // namespace sframe_gen::elf
