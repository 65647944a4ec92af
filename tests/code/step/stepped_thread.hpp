#pragma once

#include <sys/user.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace sframe_gen::stepping {

using Registers = user_regs_struct;

/// Returns the register with this DWARF number (System V ABI, figure 3.36); nothing for those that no row counts from.
std::optional<std::uint64_t> value_of(const Registers& registers, std::uint32_t dwarf_number);

/// One thread under ptrace, which is stopped between two calls. The others of its process run on.
class SteppedThread {
 public:
  /// Starts a program, which is stopped before its first instruction. What it prints goes to standard error.
  static SteppedThread of_command(char** command);
  /// Seizes the thread with this name that has run longest, among the descendants of this process whose command line
  /// has this text: of a browser's processes, the one that shows the page. Nothing: there is none yet.
  static std::optional<SteppedThread> with_name(const std::string& name, const std::string& command_line);

  /// What the last step did, beside executing an instruction.
  enum class Event : std::uint8_t {
    None,
    Signal,  ///< one is about to be delivered: the next step may be the first of its handler
    Exec,    ///< another program is in its place
    Ended,
  };
  Event step();
  /// Lets a program that has just been started run freely up to its entry point: through the dynamic loader.
  void run_to_entry();
  /// Lets it run freely. The result is Ended, Exec or None.
  Event run_for(std::chrono::microseconds time);

  const Registers& registers() const { return registers_; }
  int thread() const { return thread_; }
  int process() const { return process_; }
  bool has_ended() const { return has_ended_; }
  /// As waitpid() has it, of a thread that has ended.
  int status() const { return status_; }

  /// Whether all bytes could be read.
  bool read(std::uint64_t address, std::span<std::byte> bytes) const;
  std::optional<std::uint64_t> word(std::uint64_t address) const;

 private:
  SteppedThread(int process, int thread) : process_(process), thread_(thread) {}
  Event wait();
  void resume(int request);
  std::uint64_t entry_point() const;

  int process_, thread_;
  int status_ = 0;
  int signal_ = 0;  ///< to be delivered when it goes on
  bool has_ended_ = false;
  Registers registers_{};
};

}  // namespace sframe_gen::stepping
