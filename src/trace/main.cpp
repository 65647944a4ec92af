#include <exception>
#include <iostream>

#include "support/text.hpp"
#include "trace/options.hpp"
#include "trace/run.hpp"

namespace {

int run(int argument_count, char** arguments) {
  using namespace sframe_gen::trace;
  const Options options = read_options(argument_count, arguments);
  if (options.source == Source::Help) {
    std::cout << help_text();
    return 0;
  }
  if (options.source == Source::Version) {
    std::cout << "sframe-trace " SFRAME_GEN_VERSION "\n";
    return 0;
  }
  return run(options, std::cout);
}

}  // namespace

int main(int argument_count, char** arguments) {
  std::ios::sync_with_stdio(false);
  try {
    const int status = run(argument_count, arguments);
    std::cout.flush();
    if (std::cout) return status;
    std::cerr << "sframe-trace: error: cannot write to standard output\n";
  } catch (const sframe_gen::trace::UsageError& error) {
    std::cerr << "sframe-trace: error: " << error.what() << "\nTry 'sframe-trace --help'.\n";
    return 2;
  } catch (const std::exception& error) {
    std::cerr << "sframe-trace: error: " << sframe_gen::printable(error.what()) << '\n';
  }
  return 1;
}
