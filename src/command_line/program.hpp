#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

/// What both programs share of talking to their user.
namespace sframe_gen::command_line {

/// Calls `run`, whose result is the exit status, as the whole of main(). An exception becomes a line of standard error
/// and status 2 (UsageError) or 1; so does standard output that cannot be written.
int run_program(const char* program, const std::function<int()>& run) noexcept;

/// A line on the terminal that shows how far the work is. Silent if standard error is no terminal.
class Progress {
 public:
  explicit Progress(bool wanted);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// Sets the sizes in bytes of all files, before the first of them.
  void start(const std::vector<std::uint64_t>& sizes);
  /// Shows "[12/340, 45 of 230 MB, 12 s left] libc.so.6": `done` files are done and this one is next.
  void show_file(std::size_t done, const std::string& file);
  /// Shows "[12/340] libc.so.6".
  void show(std::uint64_t done, std::uint64_t all, const std::string& what);
  /// Shows any other line. All are shown a few times a second at most, and not in the first half second.
  void show_line(const std::string& line);
  /// Takes the line away, so that other output starts in an empty one.
  void clear();

 private:
  bool on_terminal_, is_shown_ = false;
  std::int64_t last_shown_ms_, started_ms_ = 0;
  std::vector<std::uint64_t> bytes_before_;  ///< each file, and in all
};

}  // namespace sframe_gen::command_line
