#pragma once

#include <filesystem>
#include <string>

#include "cli/convert.hpp"
#include "cli/options.hpp"
#include "cli/report.hpp"

namespace sframe_gen::cli {

/// A section by itself.
struct Emitted {
  std::string contents;  ///< bytes, or text
  Report report;
};

/// The section that `file` would get, as --emit asks for it. Throws Failure.
Emitted emit_section(const Options& options, const std::filesystem::path& file, const Warn& warn);

/// Where it goes without --output. Throws Refused where nobody could use it there: bytes on a terminal.
void check_standard_output(const Options& options);

/// Writes it to `output`, complete or not at all. Throws Refused where that is `file` itself.
void write_emitted(const std::string& contents, const std::filesystem::path& file, const std::filesystem::path& output);

}  // namespace sframe_gen::cli
