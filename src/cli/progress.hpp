#pragma once

#include <cstdint>
#include <string>

namespace sframe_gen::cli {

/// A line on the terminal that says how far the work is; silent where standard error is no terminal.
class Progress {
 public:
  explicit Progress(bool wanted);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// "[12/340] libc.so.6", a few times a second at most.
  void show(std::uint64_t done, std::uint64_t all, const std::string& what);
  /// Takes the line away, so that other output starts at a clean one.
  void clear();

 private:
  bool shown_anything_ = false;
  bool on_terminal_;
  std::int64_t last_shown_ms_ = 0;
};

}  // namespace sframe_gen::cli
