#include <malloc.h>

#include <csignal>
#include <iostream>

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
  if (options.action == Action::Launch) return launch(options, prepare_to_write);
  prepare_to_write();
  keep_freed_memory();
  return run(options);
}

}  // namespace

int main(int argument_count, char** arguments) {
  return sframe_gen::command_line::run_program("sframe-gen", [&] { return run_program(argument_count, arguments); });
}
