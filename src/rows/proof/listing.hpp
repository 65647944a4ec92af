#pragma once

#include <cstdint>
#include <set>
#include <vector>

#include "elf/image.hpp"
#include "rows/proof/decoder.hpp"
#include "support/hash.hpp"
#include "support/range.hpp"

namespace sframe_gen::rows::proof {

/// The instructions of a function, each decoded once.
class Listing {
 public:
  /// Both must outlive it.
  Listing(const elf::Image& image, const Decoder& decoder, const Range& own);

  struct Line {
    std::uint64_t pc = 0;
    Instruction instruction;
    std::uint64_t block = 0;     ///< whose walk has reached it last: where the block begins; 0: none has
    bool is_after_call = false;  ///< no path without a call has led to it, in that walk
  };
  /// The instruction at `pc`; size 0: none. What it refers to is good until the next call.
  Line& at(std::uint64_t pc);
  bool has(std::uint64_t pc) const { return line_at(pc) != nullptr; }
  /// The same without decoding; null: it is not decoded yet. Good until the next call of at().
  const Line* line_at(std::uint64_t pc) const;
  /// No walk has reached any instruction.
  void forget_blocks() {
    for (Line& line : lines_) line.block = 0;
  }
  /// How many instructions were decoded.
  std::size_t size() const { return lines_.size(); }

  /// Addresses outside of code that instructions take: of all from `own`'s begin to its end, as they follow each other.
  const std::set<std::uint64_t>& taken_addresses();
  /// The same of those that were decoded by now.
  const std::set<std::uint64_t>& addresses_taken_so_far();
  /// Calls back with each instruction that was decoded.
  template <typename Callback>
  void for_each(const Callback& callback) const {
    for (const Line& line : lines_) callback(line);
  }

 private:
  const std::uint32_t* number_at(std::uint64_t pc) const;
  std::uint32_t& number_for(std::uint64_t pc);

  const elf::Image& image_;
  const Decoder& decoder_;
  Range own_;
  std::vector<std::uint32_t> own_lines_;  ///< of each byte: the line's number + 1; 0, and not there: none
  SeededMap<std::uint64_t, std::uint32_t> other_lines_;
  std::vector<Line> lines_;
  std::set<std::uint64_t> taken_;
  bool has_swept_ = false;
  std::size_t lines_seen_ = 0;  ///< of which taken_ has the addresses
};

}  // namespace sframe_gen::rows::proof
