#include "cli/progress.hpp"

#include <unistd.h>

#include <chrono>
#include <iostream>

#include "support/text.hpp"

namespace sframe_gen::cli {

namespace {

constexpr std::int64_t first_after_ms = 500;  ///< short work shows nothing
constexpr std::int64_t interval_ms = 100;

std::int64_t now_ms() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

}  // namespace

Progress::Progress(bool wanted)
    : on_terminal_(wanted && ::isatty(STDERR_FILENO) != 0), last_shown_ms_(now_ms() + first_after_ms - interval_ms) {}

Progress::~Progress() {
  clear();
}

void Progress::show(std::uint64_t done, std::uint64_t all, const std::string& what) {
  if (!on_terminal_) return;
  const std::int64_t now = now_ms();
  if (now - last_shown_ms_ < interval_ms) return;
  last_shown_ms_ = now;
  shown_anything_ = true;
  std::cerr << "\r\033[K[" << done << '/' << all << "] " << printable(what) << std::flush;
}

void Progress::clear() {
  if (!shown_anything_) return;
  shown_anything_ = false;
  std::cerr << "\r\033[K" << std::flush;
}

}  // namespace sframe_gen::cli
