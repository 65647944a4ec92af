#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "command_line/options.hpp"
#include "sframe_gen/convert.hpp"

namespace sframe_gen::cli {

using command_line::UsageError;

/// What --check means without names.
inline constexpr std::string_view every_reader = "all";

/// What one run of the program does. All but the first have an option each.
enum class Action : std::uint8_t {
  Convert,
  Emit,
  Remove,
  Dump,
  LookUp,
  Verify,
  Check,
  ToCache,
  Launch,
  ListReaders,
  Help,
  Version
};

/// Whether it only prints something about the program, and reads no file.
constexpr bool is_for_information(Action action) {
  return action >= Action::ListReaders;
}

enum class ReportFormat : std::uint8_t { Summary, Json };
/// What --verify compares.
enum class Witness : std::uint8_t {
  Dwarf,  ///< .sframe with the call frame information
  Code,   ///< the call frame information with the instructions
};

enum class DumpForm : std::uint8_t { Text, Json };

/// A command line.
struct Options {
  Action action = Action::Convert;
  std::vector<std::filesystem::path> files;
  std::vector<std::string> command;              ///< after --launch ... --
  std::optional<std::filesystem::path> output;   ///< -o
  ConvertOptions convert;                        ///< for the library
  EmitForm emit = EmitForm::Section;             ///< --emit
  std::optional<std::uint64_t> section_address;  ///< --section-address: virtual, a multiple of 8
  DumpForm dump = DumpForm::Text;                ///< --dump
  std::vector<std::string> only;                 ///< --only
  Witness against = Witness::Dwarf;              ///< --verify --against
  bool section_only = false;                     ///< --remove --section-only
  std::filesystem::path cache;                   ///< --to-cache
  std::string place;                             ///< --lookup
  std::vector<const ReaderTarget*> readers;      ///< --check; empty: all that read such files
  bool skip_non_elf = false;
  bool skip_refused = false;
  bool explain = false;
  bool fsync = false;
  bool recursive = false;             ///< files are directories
  bool objects = false;               ///< of those in a directory, objects and archives as well
  bool linked_only = false;           ///< of those in a directory
  std::vector<std::string> excluded;  ///< --exclude
  unsigned jobs = 0;                  ///< 0: as many as the machine has cores
  bool quiet = false;
  bool verbose = false;
  ReportFormat report = ReportFormat::Summary;
};

/// Throws UsageError.
Options read_command_line(int argument_count, const char* const* arguments);

/// Every option of the program.
std::span<const command_line::Option> option_table();

/// What --help prints.
std::string help_text();

/// What --list-readers prints: a line for each.
std::string readers_text();

/// What --version prints.
std::string version_text();

}  // namespace sframe_gen::cli
