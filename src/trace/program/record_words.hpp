#pragma once

#include <span>
#include <string>
#include <vector>

#include "command_line/options.hpp"

namespace sframe_gen::trace {

/// The words of `sframe-trace record`.
struct RecordWords {
  std::vector<std::string> options;  ///< begins with the program's name
  std::vector<std::string> command;
  bool has_mark = false;     ///< -- comes before the command
  std::string stacks_asked;  ///< the option of perf that asks for stacks, such as "-g"; empty: there is none
};

/// Finds where the command begins: after --, or at the first word that is neither an option nor an option's argument.
/// Takes options out that perf's users type and that ask for what `record` does anyway. What they ask for otherwise is
/// a hint. `options`: those that `record` has.
RecordWords split_record_words(std::span<const command_line::Option> options, std::span<const char* const> words);

/// What to type instead of other options of `perf record`.
extern const std::span<const command_line::Hint> record_hints;

}  // namespace sframe_gen::trace
