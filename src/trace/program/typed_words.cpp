#include "trace/program/typed_words.hpp"

#include <elf.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string_view>
#include <system_error>

#include "support/bytes.hpp"
#include "support/text.hpp"

namespace sframe_gen::trace {

namespace {

using command_line::Hint;
using command_line::UsageError;

/// Commands of perf.
constexpr Hint perf_commands[]{
    {"report", "use `sframe-trace --top perf.data` or `sframe-trace --flamegraph out.svg perf.data`"},
    {"script", "use `sframe-trace perf.data`"},
    {"top", "use `sframe-trace record -a --duration=5s`, then `sframe-trace --top perf.data`"},
    {"annotate", "use `perf annotate`, which reads the recordings of `sframe-trace record`"},
    {"diff", "use `perf diff`, which reads the recordings of `sframe-trace record`"},
    {"evlist", "use `perf evlist`, which reads the recordings of `sframe-trace record`"},
    {"buildid-list", "use `perf buildid-list`, which reads the recordings of `sframe-trace record`"},
    {"inject", "sframe-trace reads jitdump files itself: use `sframe-trace perf.data`"},
    {"data", "use `sframe-trace --json perf.data`"},
    {"archive", "use --root=DIR or --debuginfod where you read the recording"},
    {"list", "use `perf list`, whose events `sframe-trace record -e` has"},
    {"stat", "use `perf stat` to count events, or `sframe-trace record -e` to sample them"},
    {"trace", "use `sframe-trace record -e syscalls:NAME`"},
    {"sched", "use `sframe-trace record -e sched:sched_switch`"},
    {"lock", "use `sframe-trace record -e lock:contention_begin`"},
    {"mem", "use `sframe-trace record -e cache-misses`"},
    {"c2c", "use `sframe-trace record -e cache-misses`"},
    {"version", "`sframe-trace -V` prints the version"},
    {"probe", "use `perf probe`, whose probes `sframe-trace record -e probe:NAME` samples"},
    {"buildid-cache", "use --root=DIR or --debuginfod where you read the recording"},
    {"timechart", "use `sframe-trace record -a -e sched:sched_switch`"},
    {"kwork", "use `sframe-trace record -a -e irq:softirq_entry`"},
    {"kmem", "use `sframe-trace record -a -e kmem:kmalloc`"},
    {"kvm", "use `sframe-trace record -a`"},
    {"ftrace", "use `perf ftrace`"},
    {"bench", "use `perf bench`"},
    {"config", "sframe-trace has no configuration: see `sframe-trace --help`"},
    {"daemon", "use `sframe-trace record -a --duration=TIME`"},
    {"iostat", "use `perf iostat`"},
    {"kallsyms", "use `perf kallsyms`"},
    {"test", "use `perf test`"},
};

constexpr Hint options_of_others[]{
    {"-v", "-V prints the version"},
    {"-g", "callers are always shown: leave it out"},
    {"-G", "callers are always shown: leave it out"},
    {"--call-graph", "callers are always shown: leave it out"},
    {"--stdio", "--top prints functions by their share"},
    {"--tui", "--top prints functions by their share"},
    {"-n", "--top prints the number of samples"},
    {"--no-children", "--top --sort=self"},
    {"--children", "--top prints both shares"},
    {"-s", "--top prints functions, and --comm, --pid and --tid choose"},
    {"-w", "--top --wide"},
    {"-e", "--event=NAME chooses samples of an event, --program=FILE is the program of a core file"},
    {"--exe", "--program=FILE"},
    {"--executable", "--program=FILE"},
    {"-c", "--core=FILE, or --comm=NAME"},
    {"-F", "--json prints all fields"},
    {"--fields", "--json prints all fields"},
    {"--comms", "--comm=NAME"},
    {"--max-stack", "--frames=N"},
    {"--inline", "inlined calls are always shown: leave it out"},
    {"--no-inline", "--no-inlines"},
    {"--symfs", "--root=DIR"},
    {"--sysroot", "--root=DIR"},
    {"-k", "--kallsyms=FILE"},
    {"--vmlinux", "--kallsyms=FILE"},
    {"-D", "--json prints all fields"},
    {"--percent-limit", "--top --limit=N"},
    {"-a", "`sframe-trace record -a` records the machine"},
    {"--itrace", "leave it out"},
    {"--show-cmdlines", "--json prints all fields"},
};

bool is_regular_file(const std::string& word) {
  std::error_code none;
  return std::filesystem::is_regular_file(word, none);
}

/// e_type of an ELF file; ET_NONE: it is none.
Elf64_Half type_of(const std::string& word) {
  if (!is_regular_file(word)) return ET_NONE;
  std::array<char, offsetof(Elf64_Ehdr, e_machine)> head{};
  std::ifstream file(word, std::ios::binary);
  file.read(head.data(), head.size());
  if (!file || std::string_view(head.data(), SELFMAG) != ELFMAG) return ET_NONE;
  const Endian endian = head[EI_DATA] == ELFDATA2LSB ? Endian::Little : Endian::Big;
  return load<Elf64_Half>(std::as_bytes(std::span(head)).subspan(offsetof(Elf64_Ehdr, e_type)), endian);
}

bool is_script(const std::string& word) {
  std::array<char, 2> mark{};
  if (!is_regular_file(word)) return false;
  std::ifstream(word, std::ios::binary).read(mark.data(), mark.size());
  return mark == std::array{'#', '!'};
}

bool is_in_path(const std::string& word) {
  const char* const path = std::getenv("PATH");  // NOLINT(concurrency-mt-unsafe): there is one thread
  if (path == nullptr || word.empty() || word.find('/') != std::string::npos) return false;
  std::istringstream folders(path);
  for (std::string folder; std::getline(folders, folder, ':');) {
    const std::string file = (folder.empty() ? "." : folder) + "/" + word;
    if (is_regular_file(file) && ::access(file.c_str(), X_OK) == 0) return true;
  }
  return false;
}

}  // namespace

const std::span<const Hint> reading_hints = options_of_others;

bool is_here(const std::string& word) {
  std::error_code none;
  return std::filesystem::exists(word, none);
}

bool is_core_file(const std::string& word) {
  return type_of(word) == ET_CORE;
}

void refuse_command_of_perf(const std::string& word) {
  const auto command = std::ranges::find(perf_commands, word, &Hint::option);
  if (command == std::end(perf_commands) || is_here(word)) return;
  throw UsageError(word + ": no command of sframe-trace, and no such file (" + std::string(command->instead) + ")");
}

void refuse_command(const std::string& word) {
  throw UsageError(printable(word) +
                   ": no command of sframe-trace, and no such file (record is one; --help shows what to type)");
}

void refuse_program(const std::string& word) {
  const Elf64_Half type = type_of(word);
  const bool is_file = type == ET_EXEC || type == ET_DYN || is_script(word);
  if (!is_file && (is_here(word) || !is_in_path(word))) return;
  const bool has_folder = word.find('/') != std::string::npos;
  const std::string typed = printable((is_file && !has_folder ? "./" : "") + word);
  throw UsageError(printable(word) + ": a program (use `sframe-trace record " + typed +
                   "` to see where it spends time, or "
                   "`sframe-trace -- " +
                   typed + "` to see where it crashes)");
}

}  // namespace sframe_gen::trace
