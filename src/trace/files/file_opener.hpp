#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "support/mapped_file.hpp"
#include "trace/files/named_file.hpp"
#include "trace/files/waiting_threads.hpp"

namespace sframe_gen::trace {

/// A file that is being opened.
class FileOpening {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::seconds patience{1};

  /// A second has passed. The file is not waited for any more.
  bool is_over() const { return Clock::now() >= begun_ + patience; }
  /// Null: there is no answer yet.
  const OpenFile* answer();
  /// Waits for the answer, at most for `time` and until a second has passed since the beginning. Null: there was none.
  const OpenFile* wait(Clock::duration time = patience);

 private:
  friend class FileOpener;
  void take(OpenFile answer);

  const Clock::time_point begun_ = Clock::now();
  std::mutex lock_;
  std::condition_variable is_done_;
  std::optional<OpenFile> answer_;
};

/// Opens files that others name, in threads of another process. A file system need not answer, ever, and then neither
/// the thread that asks it ends nor its process. This one goes on, and ends, without the answer.
class FileOpener {
 public:
  /// Starts the process. `root` is as open_named_file() takes it. Throws SystemFailure.
  explicit FileOpener(int root);
  ~FileOpener();
  FileOpener(const FileOpener&) = delete;
  FileOpener& operator=(const FileOpener&) = delete;

  /// Begins to open a file, and does not wait. Null: a file of the group has not been answered for a second, too many
  /// wait, or the process has ended. Any thread may call it.
  std::shared_ptr<FileOpening> begin(const NamedFile& file, const WaitingGroup& group);

 private:
  void take_answers();

  Descriptor socket_;
  std::mutex lock_;
  std::uint64_t last_ = 0;  ///< number of a request
  bool has_ended_ = false;
  std::map<std::uint64_t, std::shared_ptr<FileOpening>> unanswered_;
  std::map<WaitingGroup, std::vector<std::shared_ptr<FileOpening>>> groups_;
  std::thread reader_;
};

}  // namespace sframe_gen::trace
