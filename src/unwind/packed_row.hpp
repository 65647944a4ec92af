#pragma once

#include <cstdint>

#include "sframe/format.hpp"
#include "sframe_gen/unwind.hpp"
#include "sframe_gen/view.hpp"

namespace sframe_gen::unwind {

/// A row in 16 bytes, as steps take it: bases are indices into a frame's registers.
struct PackedRow {
  static constexpr std::uint8_t cfa = 32;      ///< as a base
  static constexpr std::uint8_t unknown = 33;  ///< a register that no frame knows
  static constexpr std::uint8_t cfa_dereferenced = 1, ra_dereferenced = 2, fp_dereferenced = 4, mangled_ra = 8,
                                signal_frame = 16, outermost = 32;
  /// The row of nearly every function: CFA = SP or FP + offset, RA = *(CFA + offset), FP = *(CFA + offset) or
  /// unchanged.
  static constexpr std::uint8_t common = 64, cfa_from_fp = 128;

  std::int32_t cfa_offset = 0, ra_offset = 0, fp_offset = 0;
  std::uint8_t cfa_base = unknown, ra_base = unknown, fp_base = unknown;
  std::uint8_t flags = 0;

  bool has(std::uint8_t flag) const { return (flags & flag) != 0; }
};
static_assert(sizeof(PackedRow) == 16);

inline std::uint8_t packed_base(std::uint32_t base) {
  if (base == sframe::UnwindRule::cfa) return PackedRow::cfa;
  return base < Registers::count ? static_cast<std::uint8_t>(base) : PackedRow::unknown;
}

/// Which of the two flags of the common form a row has.
inline std::uint8_t common_form(const PackedRow& row, const sframe::AbiTraits& abi) {
  const bool unusual = row.has(PackedRow::cfa_dereferenced | PackedRow::mangled_ra | PackedRow::signal_frame);
  const bool from_fp = row.cfa_base == abi.frame_pointer;
  const bool ra_saved = row.ra_base == PackedRow::cfa && row.has(PackedRow::ra_dereferenced);
  const bool fp_saved = row.fp_base == PackedRow::cfa && row.has(PackedRow::fp_dereferenced);
  const bool fp_kept = row.fp_base == abi.frame_pointer && row.fp_offset == 0 && !row.has(PackedRow::fp_dereferenced);
  if (unusual || !ra_saved || !(fp_saved || fp_kept) || !(from_fp || row.cfa_base == abi.stack_pointer)) return 0;
  return from_fp ? PackedRow::common | PackedRow::cfa_from_fp : PackedRow::common;
}

inline PackedRow packed(const sframe::UnwindRow& row, const sframe::AbiTraits& abi) {
  PackedRow made;
  made.cfa_offset = row.cfa.offset;
  made.ra_offset = row.return_address.offset;
  made.fp_offset = row.frame_pointer.offset;
  made.cfa_base = packed_base(row.cfa.base);
  made.ra_base = packed_base(row.return_address.base);
  made.fp_base = packed_base(row.frame_pointer.base);
  const auto flag_if = [](bool condition, std::uint8_t flag) { return condition ? flag : std::uint8_t{0}; };
  made.flags = static_cast<std::uint8_t>(flag_if(row.cfa.dereferenced, PackedRow::cfa_dereferenced) |
                                         flag_if(row.return_address.dereferenced, PackedRow::ra_dereferenced) |
                                         flag_if(row.frame_pointer.dereferenced, PackedRow::fp_dereferenced) |
                                         flag_if(row.mangled_ra, PackedRow::mangled_ra) |
                                         flag_if(row.signal_frame, PackedRow::signal_frame));
  made.flags |= common_form(made, abi);
  return made;
}

/// What a section says of `pc`, an address as the view knows it.
inline Stop find_row(const sframe::SectionView& view, const sframe::AbiTraits& abi, std::uint64_t pc, PackedRow& row) {
  const sframe::Lookup found = view.lookup(pc);
  switch (found.kind) {
    case sframe::Lookup::Kind::Nothing:
      return Stop::NoRow;
    case sframe::Lookup::Kind::Damaged:
      return Stop::BadSection;
    case sframe::Lookup::Kind::Outermost:
      row = {};
      row.flags = PackedRow::outermost;
      return Stop::Stepped;
    case sframe::Lookup::Kind::Row:
      break;
  }
  row = packed(found.row, abi);
  return Stop::Stepped;
}

}  // namespace sframe_gen::unwind
