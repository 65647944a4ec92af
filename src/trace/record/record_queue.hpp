#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <mutex>
#include <optional>
#include <vector>

#include "trace/record/ring.hpp"

namespace sframe_gen::trace::record {

/// Records between the thread that empties the rings and the one that walks. While a file's rows are made, they wait
/// here. Once it is full, they wait in the rings, where the kernel counts what it cannot add.
class RecordQueue {
 public:
  explicit RecordQueue(std::size_t most_bytes) : most_bytes_(most_bytes) {}

  bool has_room();
  void put(std::vector<TakenRecord> records);
  /// No more come, or no more are taken.
  void end();
  bool has_ended();
  /// Waits for the next ones, of which there may be none after a moment. Nothing: no more come.
  std::optional<std::vector<TakenRecord>> take();

 private:
  std::size_t most_bytes_, bytes_ = 0;
  bool has_ended_ = false;
  std::deque<std::vector<TakenRecord>> waiting_;
  std::mutex lock_;
  std::condition_variable is_changed_;
};

}  // namespace sframe_gen::trace::record
