#include <malloc.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include <algorithm>
#include <climits>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <memory>
#include <string>

#include "cli/options.hpp"
#include "cli/run.hpp"
#include "command_line/program.hpp"
#include "files/new_file.hpp"
#include "verify/libdwarf.hpp"

namespace {

/// Making the streams independent of stdio takes a fiftieth of the time of a small file, which has one line to print.
bool prints_much(const sframe_gen::cli::Options& options) {
  return options.action != sframe_gen::cli::Action::Convert || options.recursive || options.files.size() != 1;
}

/// Memory that is freed stays for the next file: many small ones take a fifth of the page faults.
void keep_freed_memory() {
  ::mallopt(M_TRIM_THRESHOLD, 64 << 20);
  // The largest value that malloc takes. By default it maps fresh pages for each large table.
  ::mallopt(M_MMAP_THRESHOLD, 32 << 20);
}

/// Whether the system lends huge pages to a program that asks for them, and as many addresses as it likes.
bool has_huge_pages() {
  for (const auto kind : {RLIMIT_AS, RLIMIT_DATA}) {
    rlimit limit{};
    if (::getrlimit(kind, &limit) != 0 || limit.rlim_cur != RLIM_INFINITY) return false;
  }
  std::ifstream setting("/sys/kernel/mm/transparent_hugepage/enabled");
  std::string choices;
  return std::getline(setting, choices) && choices.find("[never]") == std::string::npos;
}

/// Whether the program converts one file that has tables worth a huge page. Of many files, each takes the memory that
/// the one before had.
bool makes_large_tables(const sframe_gen::cli::Options& options, std::uintmax_t& size) {
  constexpr std::uintmax_t worth_it = 1 << 20;
  const bool is_one = options.files.size() == 1 && !options.recursive;
  if (options.action != sframe_gen::cli::Action::Convert || !is_one) return false;
  std::error_code failure;
  size = std::filesystem::file_size(options.files.front(), failure);
  return !failure && size >= worth_it;
}

/// Lets the heap grow once, in huge pages. Where a hypervisor shadows page tables, the first touch of a small page
/// takes longer than all that a conversion does with it. Only speed depends on this.
void prepare_heap(std::uintmax_t file_size) {
  constexpr std::uintmax_t most = 256 << 20;
  constexpr std::size_t huge_page = 2 << 20, malloc_header = 16;
  ::mallopt(M_ARENA_MAX, 1);  // for all threads
  ::mallopt(M_TRIM_THRESHOLD, INT_MAX);
  ::mallopt(M_MMAP_MAX, 0);
  // More than tables take, with --compact too. What nothing touches is no memory.
  std::size_t room = std::min(2 * file_size, most) + 2 * huge_page;
  auto* const block = static_cast<std::byte*>(std::malloc(room));
  if (block == nullptr) return;
  void* first = block + malloc_header;
  std::align(huge_page, huge_page, first, room -= malloc_header);
  ::madvise(first, room, MADV_HUGEPAGE);
  std::free(block);
  // What comes before the first huge page stays empty: it would be small pages.
  [[maybe_unused]] static void* volatile before_first;
  before_first = std::malloc(static_cast<std::size_t>(static_cast<std::byte*>(first) - block) - malloc_header);
}

void prepare_to_write() {
  // A write beyond the limit on file sizes (ulimit -f) must fail, not kill, which would leave the temporary file.
  std::signal(SIGXFSZ, SIG_IGN);
  sframe_gen::files::remove_temporary_files_on_signals();
  sframe_gen::verify::skip_bookkeeping_of_libdwarf();
}

int run_program(int argument_count, char** arguments) {
  using namespace sframe_gen::cli;
  const Options options = read_command_line(argument_count, arguments);
  if (prints_much(options)) std::ios::sync_with_stdio(false);
  if (is_for_information(options.action)) {
    std::cout << (options.action == Action::Help          ? help_text()
                  : options.action == Action::ListReaders ? readers_text()
                                                          : version_text());
    return 0;
  }
  if (options.fsync) sframe_gen::files::write_through();
  if (options.action == Action::Launch) return launch_command(options, prepare_to_write);
  prepare_to_write();
  keep_freed_memory();
  if (std::uintmax_t size = 0; makes_large_tables(options, size) && has_huge_pages()) prepare_heap(size);
  return run(options);
}

}  // namespace

int main(int argument_count, char** arguments) {
  return sframe_gen::command_line::run_program("sframe-gen", [&] { return run_program(argument_count, arguments); });
}
