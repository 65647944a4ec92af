#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "support/mapped_file.hpp"

namespace sframe_gen::trace::record {

/// A command that waits to be recorded.
class RecordedCommand {
 public:
  /// Starts a process, which becomes the command later. `as_root`: under sudo it does not become its user's.
  /// Throws SystemFailure.
  RecordedCommand(const std::vector<std::string>& command, bool as_root);
  ~RecordedCommand();
  RecordedCommand(const RecordedCommand&) = delete;
  RecordedCommand& operator=(const RecordedCommand&) = delete;

  pid_t process() const { return process_; }
  /// It becomes the command.
  void begin();
  /// Its exit status as a shell has it, once it has ended.
  std::optional<int> status();
  /// Waits for its end, which is at once if it was not told to begin.
  int wait();
  /// Whether it became the command. If it was not told to begin, it cannot any more.
  bool has_run();

 private:
  std::optional<int> wait_with(int options);

  pid_t process_ = 0;
  Descriptor go_;      ///< an end of a pipe, on whose other one the process waits
  Descriptor failed_;  ///< an end of a pipe, on which the process tells that it could not become the command
  std::optional<int> status_;
};

}  // namespace sframe_gen::trace::record
