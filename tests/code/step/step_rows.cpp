// Runs a program one instruction at a time, and judges at each what the CFI of its files and the .sframe of converted
// copies say of the caller: CFA, return address and frame pointer, by a shadow stack of what call and return
// instructions have done. Tables have no part in it, so that it finds rows that are wrong in both. tools/step-rows runs
// it.
//
//     step-rows [OPTION...] SFRAME-GEN FOLDER NAME COMMAND...
//
//     SFRAME-GEN          and options, separated by spaces: makes the copies
//     FOLDER              where copies are, which are made once
//     --steps=N           instructions that are executed in one go (default: all)
//     --pause=MICROSECONDS  that it then runs freely, its shadow stack forgotten (default: 1000)
//     --begin=MICROSECONDS  that it runs freely first, from its entry point on (default: 0): the dynamic loader is
//     never
//                         stepped before that
//     --most=N            instructions in all (default: 1,000,000)
//     --seconds=N         at most (default: 120), without what making copies takes
//     --thread=NAME       of COMMAND and its descendants, steps the thread with this name that has run longest, and
//     kills
//                         them at the end; default: COMMAND's main one
//     --process=TEXT      of those whose command line has this text (default: all)
//     --wait=SECONDS      before that (default: 5)
//     --processor=N       runs the thread and itself there only, in turn: to wake another processor takes longer
//     --proof=1           judges what src/code proves as well: of each PC of a proved function, with CFI or without
//     --only=TEXT         looks up rows of files whose path has this text (default: all)
//
// Prints lines of fields, separated by tabs; what COMMAND prints goes to standard error:
//
//     file   NAME PATH  steps, judged, PCs, judged by CFI, by section, of which without CFI, steps without a row, PCs
//                       whose CFI is wrong, of which the section has another row or none, PCs whose row is wrong,
//                       judged by proof, of which without CFI, PCs whose proof is wrong, steps with another FP than
//                       the row's in functions of OCaml, which do not keep it
//     wrong  NAME PATH  cfi, section or proof, class, place, times, what --against=code says of it, what the section
//     has rest   NAME       steps, in no file, without a known call
//
// Exit status 1 if a row of a section is wrong, or one of CFI and --against=code says nothing of it.

#include <sched.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sstream>
#include <string>

#include "code/step/program_files.hpp"
#include "sframe_gen/code_check.hpp"
#include "sframe_gen/error.hpp"

namespace {

using namespace sframe_gen;
using namespace sframe_gen::stepping;
using Clock = std::chrono::steady_clock;

constexpr std::uint64_t any_processor = CPU_SETSIZE;

struct Options {
  std::uint64_t steps = ~std::uint64_t{0}, pause = 1000, begin = 0, most = 1'000'000, seconds = 120, wait = 5,
                proof = 0, processor = any_processor;
  std::string thread, process, only;
  std::string sframe_gen, folder, name;
  char** command = nullptr;
};

class Stepping {
 public:
  explicit Stepping(const Options& options)
      : options_(options), files_(copies_of(options), options.only, options.proof != 0) {}

  void run(SteppedThread& thread) {
    if (options_.thread.empty()) thread.run_to_entry();
    if (options_.begin != 0) run_for(thread, options_.begin);
    const auto begin = Clock::now();
    const auto is_late = [&] {
      return Clock::now() - begin - files_.preparation() >= std::chrono::seconds(options_.seconds);
    };
    while (!thread.has_ended() && steps_ < options_.most && !is_late()) {
      for (std::uint64_t i = 0; i < options_.steps && steps_ < options_.most && !thread.has_ended(); ++i) {
        if (i % 1024 == 1023 && is_late()) break;
        step(thread);
      }
      if (options_.steps == ~std::uint64_t{0} || thread.has_ended()) continue;
      run_for(thread, options_.pause);
      shadow_.forget();
      files_.look_again();
    }
    if (thread.has_ended() && WIFEXITED(thread.status()) && WEXITSTATUS(thread.status()) != 0)
      std::fprintf(stderr, "step-rows: %s ends with status %d\n", options_.name.c_str(), WEXITSTATUS(thread.status()));
    if (thread.has_ended() && WIFSIGNALED(thread.status()))
      std::fprintf(stderr, "step-rows: %s ends by signal %d\n", options_.name.c_str(), WTERMSIG(thread.status()));
  }

  /// Whether no row of a section was wrong, and each of CFI's that was is known.
  bool print() {
    std::printf("rest\t%s\t%lu\t%lu\t%lu\n", options_.name.c_str(), steps_, in_no_file_, without_call_);
    bool is_good = true;
    for (const auto& [path, file] : files_.files())
      if (file != nullptr) is_good = print(path, *file) && is_good;
    return is_good;
  }

 private:
  static Copies copies_of(const Options& options) {
    std::istringstream words(options.sframe_gen);
    std::vector<std::string> command;
    for (std::string word; words >> word;) command.push_back(word);
    return {command, options.folder};
  }

  static void run_for(SteppedThread& thread, std::uint64_t microseconds) {
    if (thread.run_for(std::chrono::microseconds(microseconds)) == SteppedThread::Event::Exec) thread.run_to_entry();
  }

  void step(SteppedThread& thread) {
    const Registers before = thread.registers();
    SteppedPc* const pc = files_.at(thread, before.rip);
    if (before.rip != last_.rip || before.rsp != last_.rsp) look_at(thread, pc);
    last_ = before;
    InstructionKind kind = InstructionKind::Other;
    if (pc != nullptr) {
      kind = pc->kind;
    } else {
      std::array<std::byte, 16> bytes{};
      thread.read(before.rip, bytes);
      kind = kind_of(bytes);
    }
    const bool may_enter_handler = signal_is_due_;
    const SteppedThread::Event event = thread.step();
    ++steps_;
    signal_is_due_ = event == SteppedThread::Event::Signal;
    if (event == SteppedThread::Event::Ended) return;
    if (event == SteppedThread::Event::Exec) {
      shadow_.forget();
      thread.run_to_entry();
      return files_.look_again();
    }
    if (may_enter_handler && shadow_.follow_signal(thread, before)) return;
    if (kind == InstructionKind::SystemCall) files_.look_again_after(before);
    bool function_has_changed = false;
    if (kind == InstructionKind::IndirectJump) {
      const SteppedPc* const now = files_.at(thread, thread.registers().rip);
      function_has_changed = now != nullptr && pc != nullptr && now->function != pc->function;
    }
    shadow_.follow(thread, before, kind, function_has_changed);
  }

  void look_at(const SteppedThread& thread, SteppedPc* pc) {
    if (pc == nullptr) {
      ++in_no_file_;
      return;
    }
    ++pc->steps;
    const Call* const call = shadow_.current();
    if (call == nullptr) {
      ++without_call_;
      return;
    }
    ++pc->judged;
    const Verdict by_cfi = pc->cfi ? judge(*pc->cfi, *pc, thread, *call) : Verdict::None;
    Verdict by_section = Verdict::None;
    if (pc->section) by_section = pc->section == pc->cfi ? by_cfi : judge(*pc->section, *pc, thread, *call);
    const Verdict by_proof = pc->proof ? judge(*pc->proof, *pc, thread, *call) : Verdict::None;
    ++pc->by_proof[static_cast<std::size_t>(by_proof)];
    ++pc->by_cfi[static_cast<std::size_t>(by_cfi)];
    ++pc->by_section[static_cast<std::size_t>(by_section)];
  }

  bool print(const std::string& path, FileRows& file);
  bool print_wrong(const std::string& path, FileRows& file, const SteppedPc& pc);
  std::string said_by_code(const std::string& path, const SteppedPc& pc);

  const Options& options_;
  ProgramFiles files_;
  ShadowStack shadow_;
  Registers last_{};
  bool signal_is_due_ = false;
  std::uint64_t steps_ = 0, in_no_file_ = 0, without_call_ = 0;
  std::map<std::string, std::optional<CodeCheck>> checks_;
};

std::uint64_t wrong_of(const std::array<std::uint64_t, verdict_count>& counts) {
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < verdict_count; ++i)
    if (is_wrong(static_cast<Verdict>(i))) sum += counts[i];
  return sum;
}
std::uint64_t judged_of(const std::array<std::uint64_t, verdict_count>& counts) {
  return counts[static_cast<std::size_t>(Verdict::Right)] + wrong_of(counts);
}
/// The most frequent way to be wrong.
const char* class_of(const std::array<std::uint64_t, verdict_count>& counts) {
  const auto first = counts.begin() + static_cast<std::ptrdiff_t>(Verdict::WrongCfa);
  return name_of(static_cast<Verdict>(std::max_element(first, counts.end()) - counts.begin()));
}

std::string Stepping::said_by_code(const std::string& path, const SteppedPc& pc) {
  auto& check = checks_[path];
  if (!check) check = check_code(path);
  for (const CodeCheck::Contradiction& found : check->contradictions)
    if (found.begin <= pc.address && pc.address < found.end) return "found";
  for (const CodeCheck::Refused& refused : check->refused)
    if (refused.start == pc.function) return "refused: " + refused.reason;
  return "missed";
}

/// Sums over the PCs of a file.
struct Tally {
  std::uint64_t steps = 0, judged = 0, pcs = 0, by_cfi = 0, by_section = 0, rows_beyond = 0, without_row = 0,
                cfi_wrong = 0, left_out = 0, section_wrong = 0, by_proof = 0, proved_beyond = 0, proof_wrong = 0,
                unkept = 0;

  /// Whether something is wrong.
  bool add(const SteppedPc& pc) {
    steps += pc.steps;
    judged += pc.judged;
    if (pc.judged == 0) return false;
    ++pcs;
    by_cfi += judged_of(pc.by_cfi);
    by_section += judged_of(pc.by_section);
    by_proof += judged_of(pc.by_proof);
    unkept += pc.by_section[static_cast<std::size_t>(Verdict::Unkept)];
    if (!pc.cfi) proved_beyond += judged_of(pc.by_proof);
    if (!pc.cfi) rows_beyond += judged_of(pc.by_section);
    if (!pc.section) without_row += pc.judged;
    const bool has_wrong_cfi = wrong_of(pc.by_cfi) != 0, has_wrong_row = wrong_of(pc.by_section) != 0,
               has_wrong_proof = wrong_of(pc.by_proof) != 0;
    cfi_wrong += has_wrong_cfi ? 1 : 0;
    section_wrong += has_wrong_row ? 1 : 0;
    proof_wrong += has_wrong_proof ? 1 : 0;
    left_out += has_wrong_cfi && !has_wrong_row ? 1 : 0;
    return has_wrong_cfi || has_wrong_row || has_wrong_proof;
  }

  void print(const std::string& name, const std::string& path) const {
    std::printf("file\t%s\t%s", name.c_str(), path.c_str());
    for (const std::uint64_t number : {steps, judged, pcs, by_cfi, by_section, rows_beyond, without_row, cfi_wrong,
                                       left_out, section_wrong, by_proof, proved_beyond, proof_wrong, unkept})
      std::printf("\t%lu", number);
    std::printf("\n");
  }
};

bool Stepping::print_wrong(const std::string& path, FileRows& file, const SteppedPc& pc) {
  const bool cfi_is_wrong = wrong_of(pc.by_cfi) != 0, section_is_wrong = wrong_of(pc.by_section) != 0,
             proof_is_wrong = wrong_of(pc.by_proof) != 0;
  const std::string code = cfi_is_wrong ? said_by_code(path, pc) : "";
  const char* const copy = !pc.section ? "no row" : section_is_wrong ? "WRONG ROW" : "right row";
  const auto print = [&](const char* source, const auto& counts) {
    std::printf("wrong\t%s\t%s\t%s\t%s\t%s\t%lu of %lu\t%s\t%s\n", options_.name.c_str(), path.c_str(), source,
                class_of(counts), file.place_of(pc.address).c_str(), wrong_of(counts), pc.judged, code.c_str(), copy);
  };
  if (proof_is_wrong) print("proof", pc.by_proof);
  if (cfi_is_wrong) print("cfi", pc.by_cfi);
  if (section_is_wrong && !cfi_is_wrong) print("section", pc.by_section);
  return !section_is_wrong && !proof_is_wrong && code != "missed";
}

bool Stepping::print(const std::string& path, FileRows& file) {
  Tally tally;
  std::vector<const SteppedPc*> wrong;
  for (const auto& [address, pc] : file.pcs())
    if (tally.add(pc)) wrong.push_back(&pc);
  if (tally.steps == 0) return true;
  tally.print(options_.name, path);
  std::ranges::sort(wrong, {}, &SteppedPc::address);
  bool is_good = true;
  for (const SteppedPc* pc : wrong) is_good = print_wrong(path, file, *pc) && is_good;
  return is_good;
}

/// Starts a command, and waits until it has a thread with this name.
SteppedThread thread_of(const Options& options) {
  if (options.thread.empty()) return SteppedThread::of_command(options.command);
  if (::fork() == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    ::dup2(STDERR_FILENO, STDOUT_FILENO);
    ::execvp(options.command[0], options.command);
    ::_exit(127);
  }
  ::sleep(static_cast<unsigned>(options.wait));
  for (std::uint64_t i = 0; i < options.seconds; ++i) {
    if (auto thread = SteppedThread::with_name(options.thread, options.process)) return *thread;
    ::sleep(1);
  }
  throw Failure("no thread is named " + options.thread);
}

void stay_on(std::uint64_t processor, const SteppedThread& thread) {
  if (processor >= any_processor) return;
  cpu_set_t one{};
  CPU_SET(processor, &one);
  for (const int task : {::gettid(), thread.thread()})
    if (::sched_setaffinity(task, sizeof one, &one) != 0) throw SystemFailure("processor", "use", errno);
}

int run(const Options& options) {
  Stepping stepping(options);
  SteppedThread thread = thread_of(options);
  stay_on(options.processor, thread);
  stepping.run(thread);
  return stepping.print() ? 0 : 1;
}

/// Whether an argument is an option that is known.
bool take_option(const std::string& argument, Options& options) {
  const auto equals = argument.find('=');
  if (!argument.starts_with("--") || equals == std::string::npos) return false;
  const std::string name = argument.substr(2, equals - 2), value = argument.substr(equals + 1);
  const std::map<std::string, std::string*> texts{
      {"thread", &options.thread}, {"process", &options.process}, {"only", &options.only}};
  const std::map<std::string, std::uint64_t*> numbers{{"steps", &options.steps},     {"pause", &options.pause},
                                                      {"begin", &options.begin},     {"most", &options.most},
                                                      {"seconds", &options.seconds}, {"wait", &options.wait},
                                                      {"proof", &options.proof},     {"processor", &options.processor}};
  if (const auto text = texts.find(name); text != texts.end()) {
    *text->second = value;
    return true;
  }
  const auto number = numbers.find(name);
  if (number == numbers.end()) return false;
  *number->second = std::strtoull(value.c_str(), nullptr, 0);
  return true;
}

}  // namespace

int main(int count, char** arguments) {
  Options options;
  int next = 1;
  while (next < count && take_option(arguments[next], options)) ++next;
  if (count - next < 4) return 2;
  options.sframe_gen = arguments[next];
  options.folder = arguments[next + 1];
  options.name = arguments[next + 2];
  options.command = arguments + next + 3;
  try {
    return run(options);
  } catch (const std::exception& failure) {
    std::fprintf(stderr, "step-rows: %s\n", failure.what());
    return 2;
  }
}
