#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "elf/image.hpp"
#include "support/range.hpp"

namespace sframe_gen::rows::proof {

/// Marks of each byte of code: 1: a reached instruction starts there; 2: there is another byte of one; 4: a function
/// starts there; 8: and is called, or has a symbol; 16: code with a frame jumps there, so that it is a label; 32: code
/// outside of the FDE that describes it calls it; 64: its address is taken by data, or by another function; 128: a
/// function comes there from outside of its own code, and CFI is right.
class CodeMarks {
 public:
  /// Of the code that has bytes in the file.
  explicit CodeMarks(const elf::Image& image);
  /// False, without a mark, where instructions would overlap.
  bool mark(std::uint64_t pc, unsigned size);
  void mark_start(std::uint64_t pc);
  void mark_sure_start(std::uint64_t pc);
  bool is_sure_start(std::uint64_t pc) { return !from(pc).empty() && (from(pc)[0] & 8U) != 0; }
  bool is_start(std::uint64_t pc) { return !from(pc).empty() && (from(pc)[0] & 4U) != 0; }
  bool is_reached(std::uint64_t pc) { return !from(pc).empty() && (from(pc)[0] & 3U) != 0; }
  void mark_called_from_outside(std::uint64_t pc);
  bool is_called_from_outside(std::uint64_t pc) { return !from(pc).empty() && (from(pc)[0] & 32U) != 0; }
  void mark_taken(std::uint64_t pc);
  bool is_taken(std::uint64_t pc) { return !from(pc).empty() && (from(pc)[0] & 64U) != 0; }
  void mark_agreed(std::uint64_t pc);
  bool is_agreed(std::uint64_t pc) { return !from(pc).empty() && (from(pc)[0] & 128U) != 0; }
  /// It is a start no more, and is_label() from now on.
  void mark_label(std::uint64_t pc);
  bool is_label(std::uint64_t pc) { return !from(pc).empty() && (from(pc)[0] & 16U) != 0; }
  /// Bytes of all code.
  std::uint64_t size() const;
  /// Bytes of reached instructions in a range of code.
  std::uint64_t reached(const Range& range) const;

 private:
  /// The marks from `pc` on, to the end of its range of code; empty outside.
  std::span<std::uint8_t> from(std::uint64_t pc);
  std::vector<Range> code_;  ///< ascending
  std::size_t last_ = 0;     ///< the range that was asked for last
  std::vector<std::vector<std::uint8_t>> marks_;
};

}  // namespace sframe_gen::rows::proof
