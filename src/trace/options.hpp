#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "command_line/options.hpp"
#include "trace/walk/code_file.hpp"

namespace sframe_gen::trace {

using command_line::UsageError;

enum class Source : std::uint8_t { Process, Command, Core, Recording, Help, Version };
enum class OutputForm : std::uint8_t { Text, Json, Folded };

struct TraceOptions {
  Source source = Source::Help;
  int process = 0;
  std::vector<std::string> command;
  std::filesystem::path file;                 ///< core file or recording
  std::optional<std::filesystem::path> root;  ///< where the files are that either names; none: on this system
  OutputForm form = OutputForm::Text;
  std::filesystem::path kernel_symbols;  ///< a list as /proc/kallsyms; empty: that one, of the same kernel
  std::filesystem::path flame_graph;     ///< a file to write instead; empty: none
  TranslationOptions translation;
  std::size_t most_frames = 1024;
  bool compare = false;  ///< with what DWARF says
  bool quiet = false;
};

/// Throws UsageError.
TraceOptions read_options(int argument_count, const char* const* arguments);

std::string help_text();

}  // namespace sframe_gen::trace
