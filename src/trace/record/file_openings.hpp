#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "support/mapped_file.hpp"

namespace sframe_gen::trace {

/// A file that is being opened, in a thread of its own: file systems of programs (FUSE) need not answer, ever.
class FileOpening {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::seconds patience{1};

  explicit FileOpening(std::uint64_t device) : device_(device) {}

  std::uint64_t device() const { return device_; }
  bool is_answered();
  /// It was answered: there is no such file (any more).
  bool has_failed();
  /// Waits for the answer, at most until a second has passed since the beginning. Null: there was none.
  std::shared_ptr<const Descriptor> wait();
  bool wait_for(std::chrono::milliseconds time);
  /// A second has passed, and the file is not waited for any more: the thread that opens it can end.
  bool is_over() const { return Clock::now() >= begun_ + patience; }
  void answer(Descriptor file);

 private:
  const std::uint64_t device_;
  const Clock::time_point begun_ = Clock::now();
  std::mutex lock_;
  std::condition_variable is_done_;
  std::shared_ptr<const Descriptor> file_;
};

/// Opens files, and waits for few of those that do not answer. One thread may use it.
class FileOpenings {
 public:
  /// Called in a thread that may go on for ever; what it refers to must as well.
  using Open = std::function<Descriptor(const FileOpening&)>;

  /// Begins to open a file of `device`, and returns soon, mostly with the answer. Null: too many files do not answer
  /// (`most` of all, or one of this device that had a second to), or there is no thread.
  std::shared_ptr<FileOpening> begin(std::uint64_t device, Open open);

  static constexpr std::size_t most = 64;

 private:
  std::vector<std::shared_ptr<FileOpening>> unanswered_;
};

}  // namespace sframe_gen::trace
