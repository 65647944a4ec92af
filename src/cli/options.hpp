#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "emit/dialect.hpp"

namespace sframe_gen::cli {

enum class Action { Convert, Emit, Remove, Dump, Verify, Launch, Help, Version };
enum class EmitForm { Section, Assembly };
enum class ReportFormat { Summary, Json };

/// The command line, read.
struct Options {
  Action action = Action::Convert;
  std::vector<std::filesystem::path> files;
  std::vector<std::string> command;               ///< behind --launch ... --
  std::optional<std::filesystem::path> output;    ///< -o
  std::optional<std::filesystem::path> cfi_from;  ///< --cfi-from
  EmitForm emit = EmitForm::Section;              ///< --emit
  std::optional<std::uint64_t> section_address;   ///< --section-address: virtual, a multiple of 8
  bool ignore_build_id = false;
  bool skip_non_elf = false;
  bool skip_refused = false;
  bool dry_run = false;
  bool explain = false;
  bool drop_signature = false;
  bool quiet = false;
  bool verbose = false;
  emit::OutputFormat format;
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
