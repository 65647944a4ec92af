#include "command_line/program.hpp"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <exception>
#include <iostream>
#include <new>
#include <utility>

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

int run_program(const char* program, const std::function<int()>& run, const char* command) noexcept {
  try {
    keep_workers_beside_caller();
    const int status = run();
    std::cout.flush();
    if (std::cout) return status;
    std::cerr << program << ": error: cannot write to standard output\n";
  } catch (const UsageError& error) {
    std::cerr << program << ": error: " << error.what() << "\nTry '" << program << command << " --help'.\n";
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

FileShares::FileShares(const std::vector<std::uint64_t>& sizes) : sizes_(sizes), bytes_of_(sizes.size()) {
  for (const std::uint64_t size : sizes) all_bytes_ += size;
}

void FileShares::advance(std::size_t index, std::uint64_t done, std::uint64_t all) {
  const double share = static_cast<double>(done) / static_cast<double>(std::max<std::uint64_t>(all, 1));
  set(index, static_cast<std::uint64_t>(static_cast<double>(sizes_[index]) * std::min(share, 1.0)));
}

void FileShares::finish(std::size_t index) {
  set(index, sizes_[index]);
  ++files_done_;
}

void FileShares::set(std::size_t index, std::uint64_t bytes) {
  bytes_done_ += bytes - std::exchange(bytes_of_[index], bytes);
}

FilesDone FileShares::sum() const {
  return {files_done_, sizes_.size(), bytes_done_, all_bytes_};
}

Progress::Progress(bool wanted)
    : on_terminal_(wanted && ::isatty(STDERR_FILENO) != 0), last_shown_ms_(now_ms() + first_after_ms - interval_ms) {}

Progress::~Progress() {
  clear();
}

void Progress::start() {
  started_ms_ = now_ms();
}

void Progress::show(const FilesDone& done, const std::string& file) {
  if (!on_terminal_) return;
  constexpr std::uint64_t mega = 1'000'000;
  std::string counts = std::to_string(done.files) + '/' + std::to_string(done.all_files) + ", " +
                       std::to_string(done.bytes / mega) + " of " + std::to_string(done.all_bytes / mega) + " MB";
  // The first bytes tell little of the others.
  if (done.bytes > 0 && now_ms() - started_ms_ >= 2 * first_after_ms) {
    const double seconds = static_cast<double>(now_ms() - started_ms_) / 1000;
    const std::chrono::duration<double> left(seconds * static_cast<double>(done.all_bytes - done.bytes) /
                                             static_cast<double>(done.bytes));
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
