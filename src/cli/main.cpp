#include <iostream>

#include "cli/options.hpp"
#include "cli/run.hpp"
#include "cli/version.hpp"

int main(int argument_count, char** arguments) {
  using namespace sframe_gen::cli;
  std::ios::sync_with_stdio(false);
  try {
    const Options options = read_command_line(argument_count, arguments);
    if (options.action == Action::Help) {
      std::cout << help_text();
      return 0;
    }
    if (options.action == Action::Version) {
      std::cout << version_text() << '\n';
      return 0;
    }
    return run(options);
  } catch (const UsageError& error) {
    std::cerr << "sframe-gen: error: " << error.what() << "\nTry 'sframe-gen --help'.\n";
    return 2;
  }
}
