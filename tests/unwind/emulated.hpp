#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <string>

#include "sframe_gen/unwind.hpp"

namespace sframe_gen::unwind {

/// A program of another machine under qemu-user, which stands still between two calls: by as much of gdb's remote
/// protocol as that takes. One thread.
class Emulated {
 public:
  enum class Machine : std::uint8_t { Aarch64, S390x };

  /// `command`: the emulator, its options, the program and its arguments. `socket`: a name for one.
  Emulated(Machine machine, char** command, const std::string& socket);
  ~Emulated();
  Emulated(const Emulated&) = delete;
  Emulated& operator=(const Emulated&) = delete;

  /// Of the emulator, whose memory is the program's.
  int pid() const { return pid_; }
  bool has_ended() const { return has_ended_; }
  int status() const { return status_; }
  /// By DWARF number; on s390x with the floating-point registers, in which functions keep what others save to memory.
  Registers registers();

  void step() { go_on("s"); }
  void run_for(std::chrono::microseconds time);

 private:
  void start(char** command, const std::string& socket);
  void connect(const std::string& socket);
  void go_on(const char* how);
  void take_stop(const std::string& answer);
  char read();
  void send(const std::string& text);
  std::string receive();
  std::string ask(const std::string& text);

  Machine machine_;
  pid_t pid_ = -1;
  int connection_ = -1;
  std::string received_;  ///< what was not looked at yet
  int signal_ = 0;        ///< the program's own, to be handed on; gdb's number
  int status_ = 0;
  bool has_ended_ = false;
};

}  // namespace sframe_gen::unwind
