#pragma once

#include <cstdint>
#include <vector>

#include "cfi/frame_row.hpp"
#include "cfi/numbered_rules.hpp"

namespace sframe_gen::cfi {

/// The unwind table of one function (of several, where their FDEs overlap).
struct FunctionFrames {
  std::uint64_t start = 0;  ///< virtual address
  std::uint64_t size = 0;   ///< bytes, not zero
  bool signal_frame = false;
  std::vector<FrameRow> rows;    ///< ascending, the first at offset 0, neighbours differ
  bool b_key = false;            ///< return addresses are signed with key B (aarch64)
  std::uint8_t repeat_size = 0;  ///< bytes after which the rows start over, as in a table of stubs; 0: they do not
  friend bool operator==(const FunctionFrames&, const FunctionFrames&) = default;
};

/// A FrameRow with its rules by number.
struct NumberedRow {
  std::uint64_t pc_offset = 0;
  RuleNumber rules{};
  friend bool operator==(const NumberedRow&, const NumberedRow&) = default;
};

/// FunctionFrames with rules by number: what functions are by the hundred thousand.
struct NumberedFrames {
  std::uint64_t start = 0;
  std::uint64_t size = 0;
  bool signal_frame = false;
  std::vector<NumberedRow> rows;
  bool b_key = false;
  std::uint8_t repeat_size = 0;
};

std::vector<FrameRow> spelled_out(const std::vector<NumberedRow>& rows, const NumberedRules& rules);
FunctionFrames spelled_out(const NumberedFrames& function, const NumberedRules& rules);
NumberedFrames numbered(const FunctionFrames& function, NumberedRules& rules);

}  // namespace sframe_gen::cfi
