#pragma once

#include <cstdint>

#include "sframe/format.hpp"
#include "sframe_gen/view.hpp"
#include "support/endian.hpp"
#include "unwind/fields.hpp"
#include "unwind/row_scan.hpp"
#include "unwind/rule_reader.hpp"
#include "unwind/view_records.hpp"

namespace sframe_gen::sframe {

/// Reads a section in place: its descriptors, and by its bases rows and rules. One instance a version and byte order,
/// so that no field is asked for either.
template <Version number, bool swap>
class SectionReader : public RowScan<number, swap>, public RuleReader<number, swap> {
 public:
  static constexpr VersionTraits traits = traits_of(number);
  static constexpr bool is_plain = !swap;  ///< of the host's byte order

  explicit SectionReader(const detail::ViewFields& fields)
      : RowScan<number, swap>(fields), RuleReader<number, swap>(*fields.abi), fields_(fields) {}

  const std::byte* entry_of(std::uint32_t function) const {
    return fields_.index + std::uint64_t{function} * traits.descriptor_size;
  }

  std::uint64_t start_of(std::uint32_t function) const {
    const std::byte* const entry = entry_of(function);
    std::uint64_t distance = 0;
    if constexpr (traits.splits_descriptor) {
      distance = read_field<std::uint64_t, swap>(entry);
    } else {
      distance = sign_extended(read_field<std::uint32_t, swap>(entry));
    }
    return fields_.starts_from + function * fields_.start_stride + distance;
  }

  std::uint32_t size_of(std::uint32_t function) const {
    return read_field<std::uint32_t, swap>(entry_of(function) + (traits.start_size));
  }

  ViewFunction function_at(std::uint32_t function) const {
    const std::byte* const entry = entry_of(function);
    ViewFunction found;
    found.start = start_of(function);
    found.size = size_of(function);
    if constexpr (traits.splits_descriptor) {
      found.rows_at = read_field<std::uint32_t, swap>(entry + fde_index::attribute_at);
      read_attribute(found);
    } else {
      found.rows_at = read_field<std::uint32_t, swap>(entry + 8);
      found.row_count = read_field<std::uint32_t, swap>(entry + 12);
      found.info = FdeInfo(read_field<std::uint8_t, swap>(entry + 16));
      if constexpr (traits.has_repeat_size) {
        // GNU ld writes the size of a PLT's entries for its head too, which does not repeat (seen with 2.44).
        if (found.info.pc_type() == PcType::Mask) found.repeat_size = read_field<std::uint8_t, swap>(entry + 17);
        found.padding = read_field<std::uint16_t, swap>(entry + 18);
      }
      if (found.rows_at <= fields_.rows_size) found.first_row = fields_.rows + found.rows_at;
    }
    return found;
  }

 private:
  void read_attribute(ViewFunction& function) const {
    constexpr std::uint64_t attribute_size = 5;
    if (fields_.rows_size < attribute_size || function.rows_at > fields_.rows_size - attribute_size) return;
    const std::byte* const attribute = fields_.rows + function.rows_at;
    function.row_count = read_field<std::uint16_t, swap>(attribute);
    function.info = FdeInfo(read_field<std::uint8_t, swap>(attribute + fde_attribute::info_at));
    function.info2 = FdeInfo2(read_field<std::uint8_t, swap>(attribute + fde_attribute::info2_at));
    function.repeat_size = read_field<std::uint8_t, swap>(attribute + fde_attribute::repeat_size_at);
    function.first_row = attribute + attribute_size;
  }

  const detail::ViewFields& fields_;
};

/// Calls `visit` with the reader for a section of this version and byte order.
template <typename Visit>
auto with_reader(const detail::ViewFields& fields, Visit&& visit) {
  const bool swap = fields.endian != host_endian;
  // The version of nearly all sections, and of no other byte order than the host's.
  if (fields.version == Version::V3 && !swap) return visit(SectionReader<Version::V3, false>(fields));
  switch (fields.version) {
    case Version::CtfFrame:
      return swap ? visit(SectionReader<Version::CtfFrame, true>(fields))
                  : visit(SectionReader<Version::CtfFrame, false>(fields));
    case Version::V1:
      return swap ? visit(SectionReader<Version::V1, true>(fields)) : visit(SectionReader<Version::V1, false>(fields));
    case Version::V2:
      return swap ? visit(SectionReader<Version::V2, true>(fields)) : visit(SectionReader<Version::V2, false>(fields));
    case Version::V3:
      break;
  }
  return visit(SectionReader<Version::V3, true>(fields));
}

}  // namespace sframe_gen::sframe
