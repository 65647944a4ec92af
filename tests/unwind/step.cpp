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
#include <map>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "libdwfl.hpp"
#include "sframe_gen/error.hpp"
#include "trace/process.hpp"
#include "trace/stack.hpp"
#include "trace/tracee.hpp"

namespace {

using namespace sframe_gen;
using unwind::Stop;

constexpr std::size_t most_frames = 1000;

/// A child that stands still between two calls.
class Child {
 public:
  explicit Child(char** command) : pid_(::fork()) {
    if (pid_ < 0) throw SystemFailure(command[0], "start", errno);
    if (pid_ == 0) {
      trace::ask_ptrace(PTRACE_TRACEME, 0, 0, 0);
      ::execvp(command[0], command);
      ::_exit(127);
    }
    wait();
    trace::ask_ptrace(PTRACE_SETOPTIONS, pid_, 0, PTRACE_O_EXITKILL);
  }

  int pid() const { return pid_; }
  bool has_ended() const { return has_ended_; }
  int status() const { return status_; }

  void step() {
    trace::ask_ptrace(PTRACE_SINGLESTEP, pid_, 0, signal_);
    wait();
  }
  void run_for(std::chrono::microseconds time) {
    trace::ask_ptrace(PTRACE_CONT, pid_, 0, signal_);
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

/// Two walks that are not the same.
struct Difference {
  std::size_t frame;
  std::uint64_t ours, theirs;  ///< 0: the walk was over
  Stop stop;
  std::string at, why;
};

struct Tally {
  std::uint64_t stops = 0, frames = 0, translated = 0, same = 0, differences = 0;
  std::map<std::string, std::uint64_t> shorter, beyond;  ///< by why walks part that were the same up to there
};

class Comparison {
 public:
  explicit Comparison(int pid)
      : process_(pid, options_), space_(process_.address_space()), theirs_(pid, trace::Process::read_word, &process_) {}

  /// Files have come or gone.
  void look_at_files() {
    process_.forget_memory();
    space_ = process_.address_space();
    walker_.forget_rows();
    if (!theirs_.find_files()) throw Failure("libdwfl finds no files");
  }

  void at(const unwind::Registers& registers) {
    process_.forget_memory();
    const trace::Stack ours = walker_.walk(space_, registers, trace::Process::read_word, &process_);
    const char* why = nullptr;
    const std::size_t count = theirs_.walk(registers, pcs_, why);
    ++tally_.stops;
    const auto place = space_.place_of(registers.pc);
    tally_.translated += place.file == nullptr || place.file->image().find_section(".sframe") == nullptr;
    compare(ours, std::span(pcs_).first(count), why);
  }

  /// Whether the instruction at the PC asks the kernel for something that changes what is mapped.
  bool maps_files(const unwind::Registers& registers) {
    constexpr std::array<unsigned char, 2> syscall_instruction{0x0f, 0x05};
    constexpr std::uint64_t mmap = 9, mremap = 25, execve = 59;  // 10 and 11: mprotect, munmap
    std::array<unsigned char, 8> bytes{};
    if (!trace::Process::read_word(&process_, registers.pc, bytes.data())) return false;
    if (std::memcmp(bytes.data(), syscall_instruction.data(), syscall_instruction.size()) != 0) return false;
    const std::uint64_t number = registers.values[0];
    return (number >= mmap && number <= mmap + 2) || number == mremap || number == execve;
  }

  const Tally& tally() const { return tally_; }
  const std::vector<Difference>& differences() const { return differences_; }

 private:
  void compare(const trace::Stack& ours, std::span<const std::uint64_t> theirs, const char* why) {
    std::size_t same = 0;
    while (same < ours.frames.size() && same < theirs.size() && ours.frames[same].pc == theirs[same]) ++same;
    tally_.frames += same;
    const bool ours_is_over = same == ours.frames.size();
    const bool theirs_is_over = same == theirs.size();
    if (ours_is_over && theirs_is_over) {
      ++tally_.same;
    } else if (same != 0 && !theirs_.has_rules(ours.frames[same - 1].instruction())) {
      ++tally_.beyond["libdwfl has no rules in " + place_of(theirs[same - 1])];
    } else if (ours_is_over && says_nothing(ours)) {
      ++tally_.shorter[unwind::text_of(ours.stop) + (" in " + place_of(ours.frames.back().instruction()))];
    } else {
      note({same, ours_is_over ? 0 : ours.frames[same].pc, theirs_is_over ? 0 : theirs[same], ours.stop,
            place_of(ours.frames.front().pc), why != nullptr ? why : ""});
    }
  }

  /// Where a section leaves a PC out, or a caller's register would be needed.
  static bool says_nothing(const trace::Stack& ours) {
    return ours.stop == Stop::NoSection || ours.stop == Stop::NoRow ||
           (ours.stop == Stop::UnknownRegister && ours.frames.size() > 1);
  }

  std::string place_of(std::uint64_t pc) {
    const auto place = space_.place_of(pc);
    if (place.mapping == nullptr) return "no file";
    std::string name(place.name.substr(place.name.rfind('/') + 1));
    if (place.file == nullptr) return name;
    const trace::FunctionPlace& function = place.file->function_at(place.address);
    return function.name.empty() ? name : name + "'s " + function.name;
  }

  void note(Difference difference) {
    ++tally_.differences;
    if (differences_.size() < 10) differences_.push_back(std::move(difference));
  }

  trace::TranslationOptions options_;
  trace::Process process_;
  trace::AddressSpace space_;
  trace::Walker walker_{most_frames, false};
  unwind::Libdwfl theirs_;
  std::array<std::uint64_t, most_frames> pcs_{};
  Tally tally_;
  std::vector<Difference> differences_;
};

std::uint64_t sum_of(const std::map<std::string, std::uint64_t>& reasons) {
  std::uint64_t sum = 0;
  for (const auto& [reason, count] : reasons) sum += count;
  return sum;
}

void print(const char* name, const Comparison& comparison) {
  const Tally& tally = comparison.tally();
  std::printf("| %s | %lu | %lu | %lu | %lu | %lu | %lu | %lu |\n", name, tally.stops, tally.translated, tally.frames,
              tally.same, sum_of(tally.shorter), sum_of(tally.beyond), tally.differences);
  std::fflush(stdout);
  for (const auto* reasons : {&tally.shorter, &tally.beyond}) {
    for (const auto& [reason, count] : *reasons) std::fprintf(stderr, "%s: %lu: %s\n", name, count, reason.c_str());
  }
  for (const Difference& difference : comparison.differences())
    std::fprintf(stderr, "%s: DIFFERENCE at %s in frame %zu: %#lx (%s), libdwfl's %#lx (%s)\n", name,
                 difference.at.c_str(), difference.frame, difference.ours, unwind::text_of(difference.stop),
                 difference.theirs, difference.why.c_str());
}

int run(std::uint64_t most, std::uint64_t steps, std::chrono::microseconds pause, const char* name, char** command) {
  Child child(command);
  Comparison comparison(child.pid());
  comparison.look_at_files();
  while (!child.has_ended() && comparison.tally().stops < most) {
    for (std::uint64_t i = 0; i < steps && !child.has_ended() && comparison.tally().stops < most; ++i) {
      const auto registers = trace::registers_of(child.pid());
      if (!registers) throw Failure("no registers");
      comparison.at(*registers);
      const bool maps_files = comparison.maps_files(*registers);
      child.step();
      if (maps_files && !child.has_ended()) comparison.look_at_files();
    }
    if (child.has_ended() || comparison.tally().stops >= most) break;
    child.run_for(pause);
    if (!child.has_ended()) comparison.look_at_files();
  }
  print(name, comparison);
  if (child.has_ended() && child.status() != 0) throw Failure(std::string(name) + " has failed");
  return comparison.tally().differences == 0 ? 0 : 1;
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
