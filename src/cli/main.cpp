#include <csignal>
#include <iostream>
#include <string>

#include "cli/heap.hpp"
#include "cli/help.hpp"
#include "cli/launch.hpp"
#include "cli/options.hpp"
#include "cli/run.hpp"
#include "cli/version.hpp"
#include "files/atomic_file.hpp"
#include "verify/libdwarf.hpp"

namespace {

int print(const std::string& text) {
  std::cout << text << std::flush;
  if (std::cout) return 0;
  std::cerr << "sframe-gen: error: cannot write to standard output\n";
  return 1;
}

/// Streams of their own take 25 us to make, a fiftieth of what a small file takes, which has a line to print.
bool prints_much(const sframe_gen::cli::Options& options) {
  return options.action != sframe_gen::cli::Action::Convert || options.recursive || options.files.size() != 1;
}

void prepare_to_write() {
  // A write beyond the limit on file sizes (ulimit -f) shall fail, not kill: the temporary file would be left.
  std::signal(SIGXFSZ, SIG_IGN);
  sframe_gen::files::remove_temporary_files_on_signals();
  sframe_gen::verify::skip_bookkeeping_of_libdwarf();
}

}  // namespace

int main(int argument_count, char** arguments) {
  using namespace sframe_gen::cli;
  try {
    const Options options = read_command_line(argument_count, arguments);
    if (prints_much(options)) std::ios::sync_with_stdio(false);
    if (options.action == Action::Help) return print(help_text());
    if (options.action == Action::Version) return print(version_text() + '\n');
    if (options.action == Action::Launch) return launch(options, prepare_to_write);
    prepare_to_write();
    keep_freed_memory();
    return run(options);
  } catch (const UsageError& error) {
    std::cerr << "sframe-gen: error: " << error.what() << "\nTry 'sframe-gen --help'.\n";
    return 2;
  }
}
