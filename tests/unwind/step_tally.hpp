#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "trace/walk/address_space.hpp"
#include "trace/walk/stack.hpp"

namespace sframe_gen::unwind {

/// A stack as DWARF has it.
struct DwarfFrames {
  std::span<const std::uint64_t> pcs;
  std::string why;  ///< there are no more; empty: that is all
  /// Why ours may differ behind the first `count` frames, which are the same; empty: it may not.
  std::function<std::string(std::size_t count)> excuse;
};

/// Counts walks by .sframe that are those by DWARF, and those that are not.
class StepTally {
 public:
  void compare(trace::walk::AddressSpace& space, const trace::walk::Stack& ours, const DwarfFrames& theirs);

  std::uint64_t stops() const { return stops_; }
  bool has_differences() const { return differences_ != 0; }
  /// A row of a table; reasons and differences on standard error.
  void print(const char* name) const;

 private:
  /// Two walks that are not the same.
  struct Difference {
    std::size_t frame;
    std::uint64_t ours, theirs;  ///< 0: the walk was over
    Stop stop;
    std::string at, why;
  };
  using Reasons = std::map<std::string, std::uint64_t>;

  void note(Difference difference);

  std::uint64_t stops_ = 0, frames_ = 0, translated_ = 0, same_ = 0, differences_ = 0;
  Reasons cut_;                ///< both walks end before the outermost frame, at the same one
  Reasons shorter_, excused_;  ///< by why walks part that were the same up to there
  std::vector<Difference> noted_;
};

}  // namespace sframe_gen::unwind
