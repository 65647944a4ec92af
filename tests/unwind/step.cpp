// Runs a program one instruction at a time, walks its stack at each by .sframe as sframe-trace does and by DWARF as
// elfutils' libdwfl does, and compares all frames. tools/step-programs converts the programs and runs it.
//
//     unwind-step STOPS STEPS MICROSECONDS NAME COMMAND...
//
// STEPS instructions, then as many MICROSECONDS in one go, and again, until it has ended or there were STOPS. Prints a
// row of a table, and what differs.

#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <span>
#include <string>
#include <thread>

#include "libdwfl.hpp"
#include "sframe_gen/error.hpp"
#include "step_tally.hpp"
#include "trace/live/process.hpp"
#include "trace/live/threads.hpp"
#include "trace/walk/stack.hpp"

namespace {

using namespace sframe_gen;

constexpr std::size_t most_frames = 1000;

/// A child that stands still between two calls.
class Child {
 public:
  explicit Child(char** command) : pid_(::fork()) {
    if (pid_ < 0) throw SystemFailure(command[0], "start", errno);
    if (pid_ == 0) {
      trace::live::ask_ptrace(PTRACE_TRACEME, 0, 0, 0);
      ::execvp(command[0], command);
      ::_exit(127);
    }
    wait();
    trace::live::ask_ptrace(PTRACE_SETOPTIONS, pid_, 0, PTRACE_O_EXITKILL);
  }

  int pid() const { return pid_; }
  bool has_ended() const { return has_ended_; }
  int status() const { return status_; }

  void step() {
    trace::live::ask_ptrace(PTRACE_SINGLESTEP, pid_, 0, signal_);
    wait();
  }
  void run_for(std::chrono::microseconds time) {
    trace::live::ask_ptrace(PTRACE_CONT, pid_, 0, signal_);
    std::this_thread::sleep_for(time);
    ::kill(pid_, SIGSTOP);
    wait();
  }

 private:
  void wait() {
    signal_ = 0;
    if (::waitpid(pid_, &status_, 0) != pid_ || !WIFSTOPPED(status_)) {
      has_ended_ = true;
    } else if (WSTOPSIG(status_) != SIGTRAP && WSTOPSIG(status_) != SIGSTOP) {
      signal_ = static_cast<unsigned>(WSTOPSIG(status_));  // its own, to be handed on
    }
  }

  int pid_;
  int status_ = 0;
  unsigned signal_ = 0;
  bool has_ended_ = false;
};

class Comparison {
 public:
  explicit Comparison(int pid)
      : process_(pid, options_),
        space_(process_.address_space()),
        theirs_(pid, trace::live::Process::read_word, &process_) {}

  /// Files have come or gone.
  void look_at_files() {
    process_.forget_memory();
    space_ = process_.address_space();
    if (!theirs_.find_files()) throw Failure("libdwfl finds no files");
  }

  void at(const unwind::Registers& registers) {
    process_.forget_memory();
    const trace::walk::Stack ours = walker_.walk(space_, registers, trace::live::Process::read_word, &process_);
    const char* why = nullptr;
    const std::size_t count = theirs_.walk(registers, pcs_, why);
    const auto excuse = [&](std::size_t same) -> std::string {
      return theirs_.has_rules(ours.frames[same - 1].instruction()) ? "" : "libdwfl has no rules";
    };
    tally_.compare(space_, ours, {std::span(pcs_).first(count), why != nullptr ? why : "", excuse});
  }

  /// Whether the instruction at the PC asks the kernel for something that changes what is mapped.
  bool maps_files(const unwind::Registers& registers) {
    constexpr std::array<unsigned char, 2> syscall_instruction{0x0f, 0x05};
    constexpr std::uint64_t mmap = 9, mremap = 25, execve = 59;  // 10 and 11: mprotect, munmap
    std::array<unsigned char, 8> bytes{};
    if (!trace::live::Process::read_word(&process_, registers.pc, bytes.data())) return false;
    if (std::memcmp(bytes.data(), syscall_instruction.data(), syscall_instruction.size()) != 0) return false;
    const std::uint64_t number = registers.values[0];
    return (number >= mmap && number <= mmap + 2) || number == mremap || number == execve;
  }

  const unwind::StepTally& tally() const { return tally_; }

 private:
  trace::walk::TranslationOptions options_;
  trace::live::Process process_;
  trace::walk::AddressSpace space_;
  trace::walk::Walker walker_{most_frames, false};
  unwind::Libdwfl theirs_;
  std::array<std::uint64_t, most_frames> pcs_{};
  unwind::StepTally tally_;
};

int run(std::uint64_t most, std::uint64_t steps, std::chrono::microseconds pause, const char* name, char** command) {
  Child child(command);
  Comparison comparison(child.pid());
  comparison.look_at_files();
  while (!child.has_ended() && comparison.tally().stops() < most) {
    for (std::uint64_t i = 0; i < steps && !child.has_ended() && comparison.tally().stops() < most; ++i) {
      const auto registers = trace::live::registers_of(child.pid());
      if (!registers) throw Failure("no registers");
      comparison.at(*registers);
      const bool maps_files = comparison.maps_files(*registers);
      child.step();
      if (maps_files && !child.has_ended()) comparison.look_at_files();
    }
    if (child.has_ended() || comparison.tally().stops() >= most) break;
    child.run_for(pause);
    if (!child.has_ended()) comparison.look_at_files();
  }
  comparison.tally().print(name);
  if (child.has_ended() && child.status() != 0) throw Failure(std::string(name) + " has failed");
  return comparison.tally().has_differences() ? 1 : 0;
}

}  // namespace

int main(int count, char** arguments) {
  if (count < 6) return 2;
  try {
    return run(std::strtoull(arguments[1], nullptr, 0), std::strtoull(arguments[2], nullptr, 0),
               std::chrono::microseconds(std::atol(arguments[3])), arguments[4], arguments + 5);
  } catch (const std::exception& failure) {
    std::fprintf(stderr, "unwind-step: %s\n", failure.what());
    return 1;
  }
}
