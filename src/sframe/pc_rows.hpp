#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sframe_gen/section.hpp"

namespace sframe_gen::sframe {

/// What a tracer is told at each PC of a stretch, however the section says it.
struct PcRow {
  std::uint64_t begin = 0, end = 0;  ///< virtual addresses
  std::optional<RecoveryRules> recovery = std::nullopt;
  bool signal_frame = false;
  bool b_key = false;  ///< of a signed return address; else meaningless
  friend bool operator==(const PcRow&, const PcRow&) = default;
};

/// All of a section, ascending and disjoint; neighbors differ or do not touch.
std::vector<PcRow> pc_rows(const Section& section);

/// Throws Refused, of `name`, if functions repeat their rows so often that they cannot be written out: a section of
/// 51 bytes can claim 2^32 rows.
void check_repeats(const Section& section, const std::string& name);

}  // namespace sframe_gen::sframe
