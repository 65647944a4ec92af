#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "trace/files/waiting_threads.hpp"
#include "trace/record/ring.hpp"

namespace sframe_gen::trace::record {

/// Records of what runs, as describe_process() makes them. /proc is read in other threads: a program can make the
/// kernel wait that lists its mappings.
class DescribedPrograms {
 public:
  DescribedPrograms();

  /// Begins to describe processes. `time`: of the records (ns).
  void begin(const std::vector<int>& processes, std::uint64_t time);
  /// Hands out the records that were made since the last call.
  void take(const TakeRecord& take);
  /// Waits until all are described, a second at most.
  void wait();

 private:
  struct State;

  WaitingThreads threads_;
  std::shared_ptr<State> state_;
};

}  // namespace sframe_gen::trace::record
