#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

/// What both programs share of talking to their user.
namespace sframe_gen::command_line {

/// Calls `run`, whose result is the exit status, as the whole of main(). An exception becomes a line of standard error
/// and status 2 (UsageError) or 1; so does standard output that cannot be written. `command`: whose help is named after
/// a wrong command line, such as " record"; empty: the program's own.
int run_program(const char* program, const std::function<int()>& run, const char* command = "") noexcept;

/// How far the work on several files is.
struct FilesDone {
  std::size_t files = 0, all_files = 0;
  std::uint64_t bytes = 0, all_bytes = 0;  ///< the share that is done of files under way included
};

/// Adds up the work on several files. They may be under way at the same time, each in a thread of its own.
class FileShares {
 public:
  /// `sizes`: bytes of each file.
  explicit FileShares(const std::vector<std::uint64_t>& sizes);

  /// So much of the work on file `index` is done, and so much there is in all, in any unit. One thread works on a file.
  void advance(std::size_t index, std::uint64_t done, std::uint64_t all);
  void finish(std::size_t index);
  FilesDone sum() const;

 private:
  void set(std::size_t index, std::uint64_t bytes);

  const std::vector<std::uint64_t>& sizes_;
  std::uint64_t all_bytes_ = 0;
  std::vector<std::uint64_t> bytes_of_;  ///< done of each file
  std::atomic<std::uint64_t> bytes_done_ = 0;
  std::atomic<std::size_t> files_done_ = 0;
};

/// A line on the terminal that shows how far the work is. Silent if standard error is no terminal.
class Progress {
 public:
  explicit Progress(bool wanted);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// Starts to count the time of work on several files.
  void start();
  /// Shows "[12/340, 45 of 230 MB, 12 s left] libc.so.6", of which this file is waited for.
  void show(const FilesDone& done, const std::string& file);
  /// Shows "[12/340] libc.so.6".
  void show(std::uint64_t done, std::uint64_t all, const std::string& what);
  /// Shows any other line. All are shown a few times a second at most, and not in the first half second.
  void show_line(const std::string& line);
  /// Takes the line away, so that other output starts in an empty one.
  void clear();

 private:
  bool on_terminal_, is_shown_ = false;
  std::int64_t last_shown_ms_, started_ms_ = 0;
};

}  // namespace sframe_gen::command_line
