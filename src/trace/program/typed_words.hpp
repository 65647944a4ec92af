#pragma once

#include <span>
#include <string>

#include "command_line/options.hpp"

namespace sframe_gen::trace {

// What people type from the habit of other programs, and what to type instead.

/// Whether a file of that name is here.
bool is_here(const std::string& word);

/// Whether the file is a core file.
bool is_core_file(const std::string& word);

/// Throws UsageError, with what to type, if `word` is a command of perf, unless a file of that name is here.
void refuse_command_of_perf(const std::string& word);

/// Throws UsageError: `word` was meant as a command, and is none.
[[noreturn]] void refuse_command(const std::string& word);

/// Throws UsageError, with what to type, if `word` names a program: a file, or a name of PATH unless a file of that
/// name is here.
void refuse_program(const std::string& word);

/// What to type instead of options of other programs that show stacks.
extern const std::span<const command_line::Hint> reading_hints;

}  // namespace sframe_gen::trace
