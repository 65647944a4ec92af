#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "cli/usage_error.hpp"
#include "sframe_gen/convert.hpp"

namespace sframe_gen::cli {

/// What one run of the program does. All but the first have an option of their own.
enum class Action : std::uint8_t { Convert, Emit, Remove, Dump, LookUp, Verify, Check, Launch, Help, Version };

enum class ReportFormat : std::uint8_t { Summary, Json };
enum class DumpForm : std::uint8_t { Text, Json };

/// The command line, read.
struct Options {
  Action action = Action::Convert;
  std::vector<std::filesystem::path> files;
  std::vector<std::string> command;              ///< behind --launch ... --
  std::optional<std::filesystem::path> output;   ///< -o
  ConvertOptions convert;                        ///< what the library is asked for
  EmitForm emit = EmitForm::Section;             ///< --emit
  std::optional<std::uint64_t> section_address;  ///< --section-address: virtual, a multiple of 8
  DumpForm dump = DumpForm::Text;                ///< --dump
  std::vector<std::string> only;                 ///< --only
  std::string place;                             ///< --lookup
  std::vector<const ReaderTarget*> readers;      ///< --check; none: those that read such files
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

/// Throws UsageError.
Options read_command_line(int argument_count, const char* const* arguments);

}  // namespace sframe_gen::cli
