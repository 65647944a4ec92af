#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "sframe_gen/error.hpp"

namespace sframe_gen::cli::launch {

/// The arguments with every @FILE replaced by what FILE says, as gcc and clang read it: words part at white space,
/// quotes of either kind hold them together, a backslash takes the next character as it is, and files may name files.
/// An @FILE that cannot be read stays what it is, as it does for the compilers.
std::vector<std::string> expand_response_files(const std::vector<std::string>& arguments);

/// The objects that a compiler's command line, its name first, says it makes: one after -o, or one for each source, in
/// the directory the command runs in. None if it stops earlier (-E, -S, -M, -fsyntax-only …), goes on to link, or
/// writes to a stream.
///
/// Command lines are those of gcc and clang, with or without a launcher such as ccache before the compiler. Look at the
/// files afterwards: a compiler that was asked for its version, say, writes none of them.
std::vector<std::filesystem::path> objects_made_by(const std::vector<std::string>& command);

/// The command cannot be started.
class CannotStart : public SystemFailure {
 public:
  CannotStart(const std::string& program, int error_number);

  /// What a shell would end with: 127 if there is no such program, 126 otherwise.
  int exit_status() const { return exit_status_; }

 private:
  int exit_status_;
};

/// Becomes the command. Returns only by throwing CannotStart.
[[noreturn]] void become(const std::vector<std::string>& command);

/// Runs the command and returns its exit status. Standard streams, the environment and open files are the command's, as
/// if nothing stood between it and the caller; signals that ask this process to end are passed on, and if one ends the
/// command it ends this process as well. Throws CannotStart.
int run(const std::vector<std::string>& command);

}  // namespace sframe_gen::cli::launch
