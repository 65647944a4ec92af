#include "command_line/program.hpp"

#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <exception>
#include <iostream>
#include <new>

#include "command_line/options.hpp"
#include "support/text.hpp"
#include "support/workers.hpp"

namespace sframe_gen::command_line {

namespace {

constexpr std::int64_t first_after_ms = 500;  ///< short work shows nothing
constexpr std::int64_t interval_ms = 100;

std::int64_t now_ms() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

}  // namespace

int run_program(const char* program, const std::function<int()>& run) noexcept {
  try {
    keep_workers_beside_caller();
    const int status = run();
    std::cout.flush();
    if (std::cout) return status;
    std::cerr << program << ": error: cannot write to standard output\n";
  } catch (const UsageError& error) {
    std::cerr << program << ": error: " << error.what() << "\nTry '" << program << " --help'.\n";
    return 2;
  } catch (const std::bad_alloc&) {
    // Memory may have run out while std::cerr was made.
    std::fputs(program, stderr);
    std::fputs(": error: out of memory\n", stderr);
  } catch (const std::exception& error) {
    std::cerr << program << ": error: " << printable(error.what()) << '\n';
  }
  return 1;
}

Progress::Progress(bool wanted)
    : on_terminal_(wanted && ::isatty(STDERR_FILENO) != 0), last_shown_ms_(now_ms() + first_after_ms - interval_ms) {}

Progress::~Progress() {
  clear();
}

void Progress::start(const std::vector<std::uint64_t>& sizes) {
  if (!on_terminal_) return;
  started_ms_ = now_ms();
  bytes_before_ = {0};
  for (const std::uint64_t size : sizes) bytes_before_.push_back(bytes_before_.back() + size);
}

void Progress::show_file(std::size_t done, const std::string& file) {
  if (!on_terminal_) return;
  constexpr std::uint64_t mega = 1'000'000;
  const std::uint64_t before = bytes_before_[done], all = bytes_before_.back();
  std::string counts = std::to_string(done) + '/' + std::to_string(bytes_before_.size() - 1) + ", " +
                       std::to_string(before / mega) + " of " + std::to_string(all / mega) + " MB";
  // The first files say little about the others.
  if (before > 0 && now_ms() - started_ms_ >= 2 * first_after_ms) {
    const double seconds = static_cast<double>(now_ms() - started_ms_) / 1000;
    const std::chrono::duration<double> left(seconds * static_cast<double>(all - before) / static_cast<double>(before));
    counts += ", " + std::to_string(std::chrono::round<std::chrono::seconds>(left).count()) + " s left";
  }
  show_line("[" + counts + "] " + file);
}

void Progress::show(std::uint64_t done, std::uint64_t all, const std::string& what) {
  if (on_terminal_) show_line("[" + std::to_string(done) + '/' + std::to_string(all) + "] " + what);
}

void Progress::show_line(const std::string& line) {
  if (!on_terminal_) return;
  const std::int64_t now = now_ms();
  if (now - last_shown_ms_ < interval_ms) return;
  last_shown_ms_ = now;
  is_shown_ = true;
  std::cerr << "\r\033[K" << printable(line) << std::flush;
}

void Progress::clear() {
  if (!is_shown_) return;
  is_shown_ = false;
  std::cerr << "\r\033[K" << std::flush;
}

}  // namespace sframe_gen::command_line
