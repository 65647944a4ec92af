#pragma once

#include <cstdint>
#include <optional>
#include <set>

#include "trace/perf/record.hpp"

namespace sframe_gen::trace::record {

/// Which processes are to be looked at again after the kernel has lost records, mappings among which it does not tell.
/// A process is, when its next sample comes, once for each loss and at most once a second. Those that began since are
/// not: their records came.
class LostMappings {
 public:
  /// Records may have been lost.
  void expect_loss() { lost_again_ = true; }
  /// Takes the next record of a ring, which has a layout. `now`: ns. Returns a process to look at.
  std::optional<int> take(const perf::PerfRecord& record, std::uint64_t now);

 private:
  std::optional<std::uint64_t> lost_at_;  ///< when known_ was emptied
  bool lost_again_ = false;               ///< since then
  std::set<int> known_;
};

}  // namespace sframe_gen::trace::record
