#pragma once

#include <cstdint>
#include <set>
#include <vector>

#include "code/decoder.hpp"
#include "elf/image.hpp"
#include "support/hash.hpp"
#include "support/range.hpp"

namespace sframe_gen::code {

/// The instructions of a function, each decoded once.
class Listing {
 public:
  /// Both must outlive it.
  Listing(const elf::Image& image, const Decoder& decoder, const Range& own);

  struct Line {
    Instruction instruction;
    std::uint64_t block = 0;  ///< whose walk has reached it last: where the block begins
  };
  /// The instruction at `pc`; size 0: none. What it refers to is good until the next call.
  Line& at(std::uint64_t pc);
  bool has(std::uint64_t pc) const;

  /// Addresses outside of code that instructions take in all of the function, as far as they follow each other.
  const std::set<std::uint64_t>& taken_addresses();

 private:
  const elf::Image& image_;
  const Decoder& decoder_;
  Range own_;
  std::vector<std::uint32_t> own_lines_;  ///< of each byte: the line's number + 1
  SeededMap<std::uint64_t, std::uint32_t> other_lines_;
  std::vector<Line> lines_;
  std::set<std::uint64_t> taken_;
  bool has_taken_ = false;
};

}  // namespace sframe_gen::code
