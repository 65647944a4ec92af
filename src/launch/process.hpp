#pragma once

#include <string>
#include <vector>

#include "sframe_gen/error.hpp"

namespace sframe_gen::launch {

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

}  // namespace sframe_gen::launch
