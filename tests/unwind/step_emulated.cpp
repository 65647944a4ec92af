// As step.cpp, for programs of other machines, which run under qemu-user. tools/step-programs runs it.
//
//     unwind-step-emulated MACHINE STOPS STEPS MICROSECONDS NAME ROOT COMMAND...
//
// The files that the program may load are those below ROOT.

#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <span>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "elf/image.hpp"
#include "emulated.hpp"
#include "sframe_gen/error.hpp"
#include "step_tally.hpp"
#include "support/endian.hpp"
#include "trace/live/process.hpp"
#include "trace/walk/stack.hpp"

namespace {

using namespace sframe_gen;
using unwind::Emulated;

constexpr std::size_t most_frames = 1000;

/// The emulator has a program's files where that has them, but code without the right to be executed.
std::vector<trace::walk::Mapping> mappings_of(int pid, const std::string& root) {
  std::ifstream maps("/proc/" + std::to_string(pid) + "/maps");
  std::stringstream of_program;
  for (std::string line; std::getline(maps, line);) {
    const std::size_t rights = line.find(' ') + 1;
    if (line.find(" " + root + "/") == std::string::npos || line[rights] != 'r') continue;
    line[rights + 2] = 'x';
    of_program << line << '\n';
  }
  return trace::live::executable_mappings(of_program);
}

class Comparison {
 public:
  Comparison(int pid, std::string root) : root_(std::move(root)), process_(pid, options_), space_(address_space()) {}

  /// Files have come or gone.
  void look_at_files() { space_ = address_space(); }

  void at(const unwind::Registers& registers) {
    process_.forget_memory();
    const trace::walk::Stack ours = walker_.walk(space_, registers, trace::live::Process::read_word, &process_);
    const trace::walk::DwarfStack& theirs = *ours.by_dwarf;
    const auto excuse = [&](std::size_t same) -> std::string {
      if (same == theirs.frames.size() && theirs.cut) return "libdwfl has no rules";
      if (same == 1 && ours.frames.size() == 1 && ours.stop == unwind::Stop::NoProgress)
        return "the CFA lies below the stack pointer";
      return is_landing(registers, same - 1) ? "libgcc has written over the caller's stack pointer" : "";
    };
    tally_.compare(space_, ours, {without_signature(theirs, ours), theirs.cut.value_or(""), excuse});
  }

  /// Whether the instruction at the PC is for the kernel, which may change what is mapped.
  bool asks_kernel(const unwind::Registers& registers, Emulated::Machine machine) {
    constexpr std::array<unsigned char, 4> svc_of_aarch64{0x01, 0x00, 0x00, 0xd4};
    constexpr unsigned char svc_of_s390x = 0x0a;
    std::array<unsigned char, 8> bytes{};
    if (!trace::live::Process::read_word(&process_, registers.pc, bytes.data())) return false;
    if (machine == Emulated::Machine::S390x) return bytes[0] == svc_of_s390x;
    return std::equal(svc_of_aarch64.begin(), svc_of_aarch64.end(), bytes.begin());
  }

  const unwind::StepTally& tally() const { return tally_; }

 private:
  /// Where wrong rules lead to a word that is no address, the walker by DWARF takes the bits for a signature.
  std::span<const std::uint64_t> without_signature(const trace::walk::DwarfStack& theirs,
                                                   const trace::walk::Stack& ours) {
    pcs_.clear();
    for (const trace::walk::Frame& frame : theirs.frames) pcs_.push_back(frame.pc);
    const std::size_t last = pcs_.size() - 1;
    if (!theirs.cut || last >= ours.frames.size()) return pcs_;
    const std::uint64_t our_pc = ours.frames[last].pc;
    if ((our_pc & ~trace::walk::signature_mask) == pcs_[last]) pcs_[last] = our_pc;
    return pcs_;
  }

  /// On s390x libgcc has control land somewhere by what it writes over the registers that its own frame has saved.
  /// DWARF reads SP back from there; for SFrame it is what the ABI makes of the CFA. Whether that was done in one of
  /// the first `count` frames.
  bool is_landing(unwind::Registers registers, std::size_t count) {
    constexpr std::uint32_t sp = 15, saved_sp = 120;
    for (std::size_t i = 0; i < count; ++i) {
      const std::uint64_t pc = registers.pc - (registers.pc_is_exact != 0 ? 0 : 1);
      const trace::walk::Location* const location = space_.location_of(pc);
      const unwind::Module* const module = space_.modules().find(pc);
      const bool is_in_libgcc = location != nullptr && location->name().find("libgcc_s") != std::string::npos;
      if (module == nullptr || module->view == nullptr || module->view->abi() != sframe::Abi::S390x) return false;
      const unwind::Unwinder unwinder({{module, 1}, trace::live::Process::read_word, &process_, 0, {}});
      if (unwinder.step(registers) != unwind::Stop::Stepped) return false;
      std::array<std::byte, 8> word{};
      if (trace::live::Process::read_word(&process_, registers.values[sp] + saved_sp, word.data()) &&
          load<std::uint64_t>(word, Endian::Big) != registers.values[sp] && is_in_libgcc)
        return true;
    }
    return false;
  }

  trace::walk::AddressSpace address_space() {
    return {mappings_of(process_.pid(), root_), [this](const trace::walk::Mapping& mapping) { return open(mapping); }};
  }

  trace::walk::OpenedFile open(const trace::walk::Mapping& mapping) {
    trace::walk::OpenedFile& opened = files_[mapping.path];
    if (opened.file != nullptr || !opened.why_not.empty()) return opened;
    try {
      opened.file = std::make_shared<trace::walk::CodeFile>(elf::Image::open(mapping.path), std::vector<std::byte>(),
                                                            options_, system_);
    } catch (const Failure& failure) {
      opened.why_not = failure.what();
    }
    return opened;
  }

  std::string root_;
  trace::walk::TranslationOptions options_;
  trace::FileRoot system_;
  std::map<std::string, trace::walk::OpenedFile> files_;
  trace::live::Process process_;
  trace::walk::AddressSpace space_;
  trace::walk::Walker walker_{most_frames, true};
  unwind::StepTally tally_;
  std::vector<std::uint64_t> pcs_;
};

struct Stretches {
  std::uint64_t stops, steps;
  std::chrono::microseconds pause;
};

/// One stretch of steps.
void step(Emulated& program, Emulated::Machine machine, Comparison& comparison, const Stretches& stretches) {
  for (std::uint64_t i = 0; i < stretches.steps; ++i) {
    if (program.has_ended() || comparison.tally().stops() >= stretches.stops) return;
    const unwind::Registers registers = program.registers();
    comparison.at(registers);
    const bool asks_kernel = comparison.asks_kernel(registers, machine);
    program.step();
    if (asks_kernel && !program.has_ended()) comparison.look_at_files();
  }
}

int run(Emulated::Machine machine, const Stretches& stretches, const char* name, const char* root, char** command) {
  std::string folder = "/tmp/unwind-step-XXXXXX";
  if (::mkdtemp(folder.data()) == nullptr) throw Failure("no temporary folder");
  const std::string socket = folder + "/gdb";
  Emulated program(machine, command, socket);
  ::unlink(socket.c_str());
  ::rmdir(folder.c_str());
  Comparison comparison(program.pid(), root);
  for (;;) {
    step(program, machine, comparison, stretches);
    if (program.has_ended() || comparison.tally().stops() >= stretches.stops) break;
    program.run_for(stretches.pause);
    if (!program.has_ended()) comparison.look_at_files();
  }
  comparison.tally().print(name);
  if (program.has_ended() && program.status() != 0) throw Failure(std::string(name) + " has failed");
  return comparison.tally().has_differences() ? 1 : 0;
}

}  // namespace

int main(int count, char** arguments) {
  if (count < 8) return 2;
  try {
    const auto machine =
        std::string_view(arguments[1]) == "s390x" ? Emulated::Machine::S390x : Emulated::Machine::Aarch64;
    return run(machine,
               {std::strtoull(arguments[2], nullptr, 0), std::strtoull(arguments[3], nullptr, 0),
                std::chrono::microseconds(std::atol(arguments[4]))},
               arguments[5], arguments[6], arguments + 7);
  } catch (const std::exception& failure) {
    std::fprintf(stderr, "unwind-step-emulated: %s\n", failure.what());
    return 1;
  }
}
