#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "sframe_gen/convert.hpp"

namespace sframe_gen::cli {

enum class Action { Convert, Emit, Remove, Dump, Verify, Launch, Help, Version };
enum class ReportFormat { Summary, Json };

/// The command line, read.
struct Options {
  Action action = Action::Convert;
  std::vector<std::filesystem::path> files;
  std::vector<std::string> command;              ///< behind --launch ... --
  std::optional<std::filesystem::path> output;   ///< -o
  ConvertOptions convert;                        ///< what the library is asked for
  EmitForm emit = EmitForm::Section;             ///< --emit
  std::optional<std::uint64_t> section_address;  ///< --section-address: virtual, a multiple of 8
  bool skip_non_elf = false;
  bool skip_refused = false;
  bool explain = false;
  bool recursive = false;             ///< files are folders
  bool linked_only = false;           ///< of those below a folder
  std::vector<std::string> excluded;  ///< --exclude
  unsigned jobs = 0;                  ///< 0: as many as the machine has cores
  bool quiet = false;
  bool verbose = false;
  ReportFormat report = ReportFormat::Summary;
};

/// Wrong usage: exit status 2.
class UsageError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Throws UsageError.
Options read_command_line(int argument_count, const char* const* arguments);

std::string help_text();

}  // namespace sframe_gen::cli
