#include "trace/program/record_words.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <iterator>
#include <string>
#include <string_view>

#include "support/text.hpp"

namespace sframe_gen::trace {

namespace {

using command_line::Hint;
using command_line::Option;

/// An option of `perf record` that asks for what is done anyway.
struct NeedlessOption {
  std::string_view name;
  char letter = 0;  ///< 0: none
  bool has_argument = false, asks_for_stacks = false;
};

constexpr NeedlessOption needless_options[]{
    {"", 'g', false, true}, {"call-graph", 0, true, true}, {"period", 'P'},  {"raw-samples", 'R'},
    {"timestamp", 'T'},     {"no-buildid-cache", 'N'},     {"buildid-mmap"}, {"sample-cpu"},
    {"sample-identifier"},
};

constexpr std::string_view leave_out = "leave it out", choose_later = "choose with --pid or --tid as you read",
                           no_branches = "branches are sampled with -e branches",
                           no_ring = "leave it out: if samples are lost, the summary names what to change",
                           restart = "end with --duration=TIME, and run it again";

constexpr Hint perf_options[]{
    {"-b", no_branches},
    {"--branch-any", no_branches},
    {"-j", no_branches},
    {"--branch-filter", no_branches},
    {"-B", leave_out},
    {"--no-buildid", leave_out},
    {"-d", "addresses of data are not recorded; a time is --duration=TIME"},
    {"--data", "addresses of data are not recorded: leave it out"},
    {"-D", "start the program, and record it with -p PID"},
    {"--delay", "start the program, and record it with -p PID"},
    {"-G", "give its processes with -p PID,PID, or record all with -a"},
    {"--cgroup", "give its processes with -p PID,PID, or record all with -a"},
    {"-I", "registers are not recorded: leave it out"},
    {"--intr-regs", "registers are not recorded: leave it out"},
    {"--user-regs", "registers are not recorded: leave it out"},
    {"-i", choose_later},
    {"--no-inherit", choose_later},
    {"-k", "times are of CLOCK_MONOTONIC, as jitdump files need: leave it out"},
    {"--clockid", "times are of CLOCK_MONOTONIC, as jitdump files need: leave it out"},
    {"-m", no_ring},
    {"--mmap-pages", no_ring},
    {"-n", leave_out},
    {"--no-samples", leave_out},
    {"-r", "give a priority with `chrt -f 1 sframe-trace record`"},
    {"--realtime", "give a priority with `chrt -f 1 sframe-trace record`"},
    {"-S", restart},
    {"--snapshot", restart},
    {"-s", choose_later},
    {"--stat", choose_later},
    {"--per-thread", choose_later},
    {"-t", "record its process with -p PID, and choose with --tid as you read"},
    {"--tid", "record its process with -p PID, and choose with --tid as you read"},
    {"-u", "record the processes with -p $(pgrep -d, -u USER)"},
    {"--uid", "record the processes with -p $(pgrep -d, -u USER)"},
    {"-v", "leave it out; `sframe-trace -V` prints the version"},
    {"--verbose", leave_out},
    {"-V", "`sframe-trace --version` prints the version"},
    {"--version", "`sframe-trace --version` prints the version"},
    {"--all-cpus", "use -a"},
    {"-W", leave_out},
    {"--weight", leave_out},
    {"-z", "a recording has a few bytes for each frame: leave it out"},
    {"--compression-level", "a recording has a few bytes for each frame: leave it out"},
    {"--all-kernel", "restrict events with -e EVENT:k"},
    {"--all-user", "restrict events with -e EVENT:u"},
    {"--kernel-callchains", leave_out},
    {"--user-callchains", leave_out},
    {"--filter", "choose with --pid, --tid, --comm or --time as you read"},
    {"--exclude-perf", "choose with --comm as you read"},
    {"--group", "give the events with -e EVENT,EVENT"},
    {"--max-size", "end with --duration=TIME"},
    {"--off-cpu", "-e context-switches -c 1 samples where threads wait"},
    {"--overwrite", restart},
    {"--switch-output", restart},
    {"--switch-events", "-e context-switches samples them"},
    {"--kcore", "give the kernel's list with --kallsyms as you read"},
    {"--vmlinux", "give the kernel's list with --kallsyms as you read"},
    {"--namespaces", leave_out},
    {"--running-time", leave_out},
    {"--strict-freq", leave_out},
    {"--threads", leave_out},
    {"--affinity", leave_out},
    {"--aio", leave_out},
    {"--all-cgroups", leave_out},
    {"--aux-sample", "hardware traces are not recorded: leave it out"},
    {"--buildid-all", "build-ids are always recorded: leave it out"},
    {"--clang-opt", leave_out},
    {"--clang-path", leave_out},
    {"--code-page-size", leave_out},
    {"--control", "end with --duration=TIME, or by Ctrl-C"},
    {"--data-page-size", leave_out},
    {"--debuginfod", "give --debuginfod as you read the recording"},
    {"--dry-run", "leave it out: nothing is written if something is wrong"},
    {"--mmap-flush", no_ring},
    {"--no-bpf-event", leave_out},
    {"--no-buffering", leave_out},
    {"--num-thread-synthesize", leave_out},
    {"--phys-data", "addresses of data are not recorded: leave it out"},
    {"--proc-map-timeout", leave_out},
    {"--switch-max-files", restart},
    {"--switch-output-event", restart},
    {"--synth", leave_out},
    {"--tail-synthesize", leave_out},
    {"--timestamp-boundary", "the times of the first and last sample are always recorded: leave it out"},
    {"--timestamp-filename", "name the file with -o FILE"},
    {"--transaction", leave_out},
    {"--max-stack", "--frames=N"},
    {"--stdio", "use --top"},
    {"--inlines", "inlined calls are always shown: leave it out"},
    {"--no-inlines", "record to a file, and read it with `sframe-trace --no-inlines perf.data`"},
    {"--lines", "record to a file, and read it with `sframe-trace --lines perf.data`"},
};

bool takes_argument(const Option& option) {
  return option.argument.kind != command_line::ArgumentKind::None;
}

/// The words that are not read yet.
class WordReader {
 public:
  WordReader(std::span<const Option> options, std::span<const char* const> words) : table_(options), words_(words) {}

  RecordWords read() {
    if (!words_.empty()) keep_next();
    while (next_ < words_.size()) {
      const std::string_view word = words_[next_];
      if (word == "--") {
        ++next_;
        result_.has_mark = true;
        break;
      }
      if (word.size() < 2 || word.front() != '-') break;
      if (word.starts_with("--")) {
        read_long(word);
      } else {
        read_letters(word);
      }
    }
    for (const char* word : words_.subspan(next_)) result_.command.emplace_back(word);
    return std::move(result_);
  }

 private:
  void read_long(std::string_view word) {
    const std::size_t end = std::min(word.size(), word.find('='));
    const std::string_view name = word.substr(2, end - 2);
    const bool is_alone = end == word.size();
    const auto needless = std::ranges::find(needless_options, name, &NeedlessOption::name);
    const auto option = std::ranges::find(table_, name, &Option::name);
    if (needless != std::end(needless_options) && !name.empty()) {
      ++next_;
      if (needless->has_argument) check_kind_of_stacks(is_alone ? next_argument() : word.substr(end + 1));
      if (needless->has_argument && is_alone) skip_argument();
      if (needless->asks_for_stacks) result_.stacks_asked = word.substr(0, end);
    } else {
      keep_next();
      if (option != table_.end() && takes_argument(*option) && is_alone) keep_argument();
    }
  }

  /// "-ag", "-F99"
  void read_letters(std::string_view word) {
    std::string kept = "-";
    ++next_;
    for (std::size_t i = 1; i < word.size(); ++i) {
      const auto needless = std::ranges::find(needless_options, word[i], &NeedlessOption::letter);
      if (needless != std::end(needless_options)) {
        if (needless->asks_for_stacks) result_.stacks_asked = {'-', word[i]};
        continue;
      }
      kept += word[i];
      const auto option = std::ranges::find(table_, word[i], &Option::letter);
      if (option != table_.end() && !takes_argument(*option)) continue;
      result_.options.push_back(kept.append(word.substr(i + 1)));
      if (option != table_.end() && i + 1 == word.size()) keep_argument();
      return;
    }
    if (kept.size() > 1) result_.options.push_back(kept);
  }

  /// As perf does, so that it is not the command that is taken for one.
  static void check_kind_of_stacks(std::string_view kind) {
    constexpr std::array known{"fp", "dwarf", "lbr", "no", ""};
    if (std::ranges::find(known, kind.substr(0, kind.find(','))) == known.end())
      throw command_line::UsageError("--call-graph: unknown value '" + printable(std::string(kind)) +
                                     "' (leave --call-graph out: stacks are always recorded)");
  }
  std::string_view next_argument() const { return has_argument() ? words_[next_] : std::string_view(); }

  bool has_argument() const { return next_ < words_.size() && std::string_view(words_[next_]) != "--"; }
  void keep_next() { result_.options.emplace_back(words_[next_++]); }
  void keep_argument() {
    if (has_argument()) keep_next();
  }
  void skip_argument() {
    if (has_argument()) ++next_;
  }

  std::span<const Option> table_;
  std::span<const char* const> words_;
  std::size_t next_ = 0;
  RecordWords result_;
};

}  // namespace

const std::span<const Hint> record_hints = perf_options;

RecordWords split_record_words(std::span<const Option> options, std::span<const char* const> words) {
  return WordReader(options, words).read();
}

}  // namespace sframe_gen::trace
