#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sframe/section.hpp"
#include "support/byte_writer.hpp"

namespace sframe_gen::emit {

/// Builds the bytes of an SFrame V3 section, function by function, the way GNU as chooses widths and every reader
/// accepts:
///
///   header (28 bytes: sorted and pc-relative, no auxiliary header)
///   index, 16 bytes a function, ascending by start
///   attribute and rows of each function, in the same order, directly after the index
///
/// Functions come in ascending order and do not overlap. Their bytes do not depend on the section's address; only
/// the index does, so the size is known before the place.
class SectionEncoder {
 public:
  explicit SectionEncoder(const sframe::AbiTraits& traits);

  /// `function` has at least one row and at most 65535; a row's offset is below the function's size. Throws
  /// std::length_error when the row sub-section would pass 4 GiB.
  void add(const sframe::Function& function);

  /// Adds all functions of `other`, which come after this one's.
  void append(const SectionEncoder& other);

  std::uint64_t function_count() const { return index_.size(); }
  std::uint64_t row_count() const { return row_count_; }
  /// Bytes of the whole section.
  std::uint64_t encoded_size() const;
  /// The section's bytes for a section at virtual address `section_address`.
  std::vector<std::byte> encode(std::uint64_t section_address) const;

 private:
  struct IndexEntry {
    std::uint64_t start;
    std::uint32_t size;
    std::uint32_t attribute_offset;
  };

  void check_limits() const;

  sframe::AbiTraits traits_;
  ByteWriter rows_;
  std::vector<IndexEntry> index_;
  std::uint64_t row_count_ = 0;
};

}  // namespace sframe_gen::emit
