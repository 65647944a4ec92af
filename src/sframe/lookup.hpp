#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sframe_gen/section.hpp"

namespace sframe_gen::sframe {

/// What a tracer is told at each PC of a stretch, however the section says it.
struct PcRow {
  std::uint64_t begin, end;  ///< virtual addresses
  std::optional<RecoveryRules> recovery;
  bool signal_frame;
  bool b_key;  ///< of a signed return address; else meaningless
  friend bool operator==(const PcRow&, const PcRow&) = default;
};

/// All of a section, ascending and disjoint; neighbours differ or do not touch.
std::vector<PcRow> pc_rows(const Section& section);

/// Throws Refused, of `name`, if functions repeat their rows so often that pc_rows() would take much memory: a section
/// of 51 bytes can claim 2^32 rows.
void check_repeats(const Section& section, const std::string& name);

}  // namespace sframe_gen::sframe
