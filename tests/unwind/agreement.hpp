#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <ostream>
#include <span>
#include <vector>

#include "sframe/format.hpp"
#include "sframe_gen/error.hpp"
#include "sframe_gen/find_rows.hpp"
#include "sframe_gen/section.hpp"
#include "sframe_gen/view.hpp"

namespace sframe_gen::sframe {

inline void PrintTo(const Rule& rule, std::ostream* out) {
  *out << (rule.dereferenced ? "*" : "") << "(" << (rule.base_register ? std::int64_t{*rule.base_register} : -1)
       << " + " << rule.offset << ")";
}

}  // namespace sframe_gen::sframe

/// The view beside the decoder: what one says of a PC, the other says.
namespace sframe_gen::unwind::test {

/// A decoded row, with what it leaves to its ABI.
inline sframe::RecoveryRules whole(const sframe::RecoveryRules& recovery, sframe::Abi abi) {
  const sframe::AbiTraits& traits = sframe::traits_of(abi);
  const bool fixed = traits.fixed_ra_offset != 0;
  const sframe::Rule silent_ra =
      fixed ? sframe::Rule::at_cfa(traits.fixed_ra_offset) : sframe::Rule::in_register(traits.return_address);
  sframe::RecoveryRules row = recovery;
  row.return_address = recovery.return_address.value_or(silent_ra);
  row.frame_pointer = recovery.frame_pointer.value_or(sframe::Rule::in_register(traits.frame_pointer));
  return row;
}

/// False, and a failure, where the two differ.
inline bool agree_at(const sframe::Section& section, const sframe::SectionView& view, std::uint64_t pc) {
  using Kind = sframe::Lookup::Kind;
  const sframe::Lookup found = view.lookup(pc);
  const sframe::Fde* const function = sframe::find_fde(section, pc);
  const sframe::Fre* const row = function != nullptr ? sframe::find_fre(*function, pc - function->start) : nullptr;
  const bool outermost = (function != nullptr && sframe::is_outermost_throughout(*function, section.version)) ||
                         (row != nullptr && !row->recovery);
  const Kind expected = outermost ? Kind::Outermost : row != nullptr ? Kind::Row : Kind::Nothing;
  EXPECT_EQ(static_cast<int>(found.kind), static_cast<int>(expected)) << std::hex << pc;
  if (found.kind != expected) return false;
  if (expected == Kind::Nothing) return true;
  const bool same_function = found.function_start == function->start && found.function_size == function->size &&
                             found.descriptor == function - section.fdes.data();
  EXPECT_TRUE(same_function) << std::hex << pc;
  if (expected == Kind::Outermost) return same_function;
  const sframe::RecoveryRules said = whole(*row->recovery, section.abi);
  const bool same_row = found.row == said && found.b_key == function->b_key &&
                        found.signal_frame == function->signal_frame && found.row_number == row - function->fres.data();
  EXPECT_EQ(found.row.cfa, said.cfa) << std::hex << pc;
  EXPECT_EQ(found.row.return_address, said.return_address) << std::hex << pc;
  EXPECT_EQ(found.row.frame_pointer, said.frame_pointer) << std::hex << pc;
  EXPECT_TRUE(same_row) << std::hex << pc;
  return same_function && same_row;
}

/// Checks each PC of each function, of the large ones the first and last and those around row starts. Returns how many.
inline std::uint64_t expect_agreement(const sframe::Section& section, const sframe::SectionView& view) {
  constexpr std::uint64_t all_of = 600;  // bytes of a function whose PCs are all looked up
  std::uint64_t checked = 0;
  const auto check = [&](std::uint64_t pc) {
    ++checked;
    return agree_at(section, view, pc);
  };
  if (!check(0) || !check(section.address) || !check(~std::uint64_t{0})) return checked;
  for (const sframe::Fde& function : section.fdes) {
    if (!check(function.start - 1) || !check(function.start + function.size)) return checked;
    for (std::uint64_t offset = 0; offset < std::min<std::uint64_t>(function.size, all_of); ++offset) {
      if (!check(function.start + offset)) return checked;
    }
    if (function.size <= all_of) continue;
    if (!check(function.start + function.size - 1)) return checked;
    for (const sframe::Fre& row : function.fres) {
      if (!check(function.start + row.pc_offset) || !check(function.start + row.pc_offset - 1)) return checked;
    }
  }
  return checked;
}

/// At the first and last PC of each row, without a page table and with one. Returns how many.
inline std::uint64_t expect_row_starts_agree(std::span<const std::byte> bytes, std::uint64_t address,
                                             sframe::Family family) {
  sframe::SectionView view;
  const sframe::ViewFault fault = view.open(bytes, address, family);
  EXPECT_FALSE(fault) << sframe::text_of(fault.problem) << " at " << fault.offset;
  const sframe::Section section = sframe::decode(bytes, address, {"a.out", ".sframe"}, {}, family);
  std::vector<sframe::PageSlot> slots(view.page_slots());
  std::uint64_t checked = 0;
  for (const bool with_pages : {false, true}) {
    if (with_pages) view.use_pages(slots);
    for (const sframe::Fde& function : section.fdes) {
      for (const sframe::Fre& row : function.fres) {
        const std::uint64_t start = function.start + row.pc_offset;
        checked += 2;
        if (!agree_at(section, view, start) || !agree_at(section, view, start - 1)) return checked;
      }
    }
  }
  return checked;
}

/// The same with page tables: of the smallest pages, of larger ones, and one page for all.
inline std::uint64_t expect_agreement_by_pages(const sframe::Section& section, sframe::SectionView view) {
  std::uint64_t checked = 0;
  constexpr std::uint64_t most = 1000;  // a damaged section may claim code all over the address space
  for (const std::uint64_t wanted :
       {view.page_slots(256), view.page_slots(1024), view.page_slots(4096), std::uint64_t{1}}) {
    std::vector<sframe::PageSlot> slots(std::min(wanted, most));
    view.use_pages(slots);
    checked += expect_agreement(section, view);
  }
  return checked;
}

/// Stretches follow each other without a gap, and each says what a look-up says of all its PCs, of long ones at both
/// ends.
inline std::uint64_t expect_stretches(const sframe::SectionView& view) {
  constexpr std::uint64_t most_stretches = 5000;  // a damaged section may have stubs all over the address space
  constexpr std::uint64_t all_of = 600;           // bytes of one whose PCs are all looked up
  std::uint64_t checked = 0;
  std::uint64_t end = 0;
  for (std::uint64_t pc = 0; pc != UINT64_MAX && checked < most_stretches; pc = end, ++checked) {
    const sframe::Lookup found = view.lookup_stretch(pc, end);
    EXPECT_GT(end, pc);
    if (end <= pc) break;
    const auto is_same = [&](std::uint64_t other) {
      const sframe::Lookup there = view.lookup(other);
      return there.kind == found.kind && there.row == found.row && there.b_key == found.b_key &&
             there.signal_frame == found.signal_frame && there.descriptor == found.descriptor &&
             there.row_number == found.row_number && there.function_start == found.function_start;
    };
    for (std::uint64_t other = pc; other < std::min(end, pc + all_of) && other >= pc; ++other) {
      EXPECT_TRUE(is_same(other)) << std::hex << other << " of " << pc << " to " << end;
      if (testing::Test::HasFailure()) return checked;
    }
    EXPECT_TRUE(is_same(end - 1)) << std::hex << pc << " to " << end;
  }
  return checked;
}

/// Opens the bytes both ways; both take them or neither. Returns the number of PCs compared, 0 if both refused.
inline std::uint64_t expect_same_reading(std::span<const std::byte> bytes, std::uint64_t address,
                                         sframe::Family family) {
  sframe::SectionView view;
  const sframe::ViewFault fault = view.open(bytes, address, family);
  try {
    // What the view cannot tell of an unsorted index, it may let pass.
    sframe::Section section = sframe::decode(bytes, address, {"a.out", ".sframe"}, {.allow_overlap = true}, family);
    const bool is_sorted = (section.flags & 1U) != 0;
    if (is_sorted) section = sframe::decode(bytes, address, {"a.out", ".sframe"}, {}, family);
    EXPECT_FALSE(fault) << sframe::text_of(fault.problem) << " at " << fault.offset;
    if (fault) return 0;
    const std::uint64_t checked = expect_agreement(section, view) + expect_stretches(view);
    return testing::Test::HasFailure() ? checked : checked + expect_agreement_by_pages(section, view);
  } catch (const Failure& failure) {
    EXPECT_TRUE(fault) << failure.what();
    return 0;
  }
}

}  // namespace sframe_gen::unwind::test
