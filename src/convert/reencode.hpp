#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "elf/image.hpp"
#include "encode/encode_functions.hpp"
#include "sframe_gen/section.hpp"

namespace sframe_gen::convert {

/// The section that a file has, to be written again in another version or in fewer bytes. No DWARF is read.
class Reencoding {
 public:
  /// Reads .sframe, or else .ctf_frame. Throws Refused where there is neither, MalformedInput for a damaged one.
  explicit Reencoding(const elf::Image& image);

  const sframe::Section& section() const { return section_; }

  /// Throws Refused, naming the PC, where `dialect` has no word for a row.
  encode::EncodedFunctions encode(const emit::Dialect& dialect) const;

  /// Reads the new section back: each PC with a row before has that row, and what else has one is padding. Throws
  /// Refused otherwise.
  void check(std::span<const std::byte> bytes, std::uint64_t address, sframe::Family family) const;

 private:
  const elf::Image& image_;
  sframe::Section section_;
};

}  // namespace sframe_gen::convert
