#pragma once

#include <cstdint>
#include <map>
#include <ostream>
#include <string>

#include "trace/report/text_report.hpp"

namespace sframe_gen::trace {

/// What a run came to: how many stacks are whole, and what ended the others, by file and reason.
class Totals {
 public:
  /// `cut`: of `stack`, if it is not whole.
  void add(const Stack& stack, const std::optional<Cut>& cut);
  /// A thread that had no stack to walk.
  void add_missing(const std::string& reason);

  std::uint64_t stacks() const { return stacks_; }
  std::uint64_t whole() const { return whole_; }
  /// From what DWARF says.
  std::uint64_t different() const { return different_; }

  /// "12 stacks, 96 frames; 11 whole", and a line for each reason, the most frequent first; the same of a comparison.
  void write(std::ostream& out) const;

 private:
  using Counts = std::map<std::string, std::uint64_t>;
  static void write_counts(std::ostream& out, const Counts& counts, const char* what);
  void write_comparison(std::ostream& out) const;

  std::uint64_t stacks_ = 0, frames_ = 0, whole_ = 0;
  Counts cuts_;  ///< by text_of()
  std::uint64_t compared_ = 0, different_ = 0, equal_ = 0;
  Counts dwarf_cuts_;
};

}  // namespace sframe_gen::trace
