#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace sframe_gen::cli {

/// A line on the terminal that says how far the work is; silent where standard error is no terminal.
class Progress {
 public:
  explicit Progress(bool wanted);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// Before the first of several files: the bytes of each.
  void start(const std::vector<std::uint64_t>& sizes);
  /// "[12/340, 45 of 230 MB, 12 s left] libc.so.6", when `done` files are done and this one is next.
  void show_file(std::size_t done, const std::string& file);

  /// "[12/340] libc.so.6", a few times a second at most.
  void show(std::uint64_t done, std::uint64_t all, const std::string& what);
  /// Takes the line away, so that other output starts at a clean one.
  void clear();

 private:
  void write(const std::string& counts, const std::string& what);

  bool shown_anything_ = false;
  bool on_terminal_;
  std::int64_t last_shown_ms_ = 0;
  std::int64_t started_ms_ = 0;
  std::vector<std::uint64_t> bytes_before_;  ///< each file, and all of them
};

}  // namespace sframe_gen::cli
