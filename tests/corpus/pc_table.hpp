#pragma once

#include <cstdint>
#include <optional>
#include <ostream>
#include <vector>

#include "sframe_gen/find_rows.hpp"
#include "sframe_gen/section.hpp"
#include "support/text.hpp"

namespace sframe_gen::test {

/// What a section says of the PCs [begin, end), free of how descriptors and rows divide them.
struct PcStretch {
  std::uint64_t begin, end;
  bool signal_frame;
  std::optional<sframe::RecoveryRules> recovery;
  bool b_key = false;  ///< of a signed return address
  friend bool operator==(const PcStretch&, const PcStretch&) = default;
};

/// Every PC the section describes, ascending; neighbors that say the same are joined.
inline std::vector<PcStretch> pc_table(const sframe::Section& section) {
  std::vector<PcStretch> table;
  for (const sframe::Fde& function : section.fdes) {
    // A default descriptor without rows says "outermost frame" (SFrame V3, section 1.2).
    if (function.fres.empty() && function.size != 0) {
      table.push_back({function.start, function.start + function.size, function.signal_frame, std::nullopt});
    }
    sframe::for_each_interval(function, [&](std::uint64_t begin, std::uint64_t end, const sframe::Fre& row) {
      const bool b_key = function.b_key && row.recovery && row.recovery->mangled_ra;
      const PcStretch next{function.start + begin, function.start + end, function.signal_frame, row.recovery, b_key};
      const bool joins = !table.empty() && table.back().end == next.begin && table.back().b_key == next.b_key &&
                         table.back().signal_frame == next.signal_frame && table.back().recovery == next.recovery;
      if (joins) {
        table.back().end = next.end;
      } else {
        table.push_back(next);
      }
    });
  }
  return table;
}

/// What the table says of `pc`, or nothing.
inline const PcStretch* find(const std::vector<PcStretch>& table, std::uint64_t pc) {
  for (const PcStretch& stretch : table) {
    if (stretch.begin <= pc && pc < stretch.end) return &stretch;
  }
  return nullptr;
}

inline void PrintTo(const PcStretch& stretch, std::ostream* out) {
  *out << hex(stretch.begin) << ".." << hex(stretch.end) << (stretch.recovery ? " recovered" : " RA undefined");
}

}  // namespace sframe_gen::test
