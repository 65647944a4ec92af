#pragma once

#include <filesystem>
#include <string>

namespace sframe_gen::backtrace {

/// Returns the file that a command's name means, as execvp() finds it; empty if there is none.
std::filesystem::path find_command(const std::string& name);

/// What has to be known of a program before a library is put in front of its own.
struct ProgramFile {
  std::string why_not;            ///< the dynamic loader would not load the library, because …; empty: it does
  std::string sanitizer_runtime;  ///< AddressSanitizer's, which must come first; empty: the program has none
};

/// Looks at a program, or at the program that interprets it if it is a script. A file that cannot be read has no
/// reason: whether it can be started is the kernel's to say.
ProgramFile look_at_program(const std::filesystem::path& path);

}  // namespace sframe_gen::backtrace
