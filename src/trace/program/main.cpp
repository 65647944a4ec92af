#include <iostream>
#include <string_view>

#include "command_line/program.hpp"
#include "support/mapped_file.hpp"
#include "trace/program/options.hpp"
#include "trace/program/run.hpp"

namespace {

int run_program(int argument_count, char** arguments) {
  using namespace sframe_gen::trace;
  std::ios::sync_with_stdio(false);
  // Others may write to the files that it reads.
  sframe_gen::read_cut_files_as_zeros();
  const TraceOptions options = read_options(argument_count, arguments);
  if (options.source == Source::Help) {
    std::cout << help_text();
    return 0;
  }
  if (options.source == Source::RecordHelp) {
    std::cout << record_help_text();
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
  const bool records = argument_count > 1 && std::string_view(arguments[1]) == "record";
  return sframe_gen::command_line::run_program(
      "sframe-trace", [&] { return run_program(argument_count, arguments); }, records ? " record" : "");
}
