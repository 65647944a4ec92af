#include <gtest/gtest.h>
#include <linux/perf_event.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "support/folder.hpp"
#include "trace/program/options.hpp"
#include "trace/record/event_files.hpp"
#include "trace/record/event_kind.hpp"

// What people type from the habit of perf: it is taken, or refused with what to type.

namespace sframe_gen::test {

namespace {

using namespace trace;
using Words = std::vector<std::string>;

TraceOptions read(const Words& words) {
  std::vector<const char*> arguments{"sframe-trace"};
  for (const std::string& word : words) arguments.push_back(word.c_str());
  return read_options(static_cast<int>(arguments.size()), arguments.data());
}

TraceOptions record(Words words) {
  words.insert(words.begin(), "record");
  return read(words);
}

/// Empty: the words are taken.
std::string refusal_of(const Words& words) {
  try {
    read(words);
  } catch (const UsageError& error) {
    return error.what();
  }
  return {};
}

perf_event_attr attribute_of(const std::string& name) {
  record::EventRequest request;
  request.kinds = {record::event_named(name)};
  request.threads = {1};
  request.rate = 99;
  perf_event_attr attribute{};
  const std::vector<std::byte> bytes = record::attributes_of(request, 0, true, true);
  std::memcpy(&attribute, bytes.data(), std::min(bytes.size(), sizeof attribute));
  return attribute;
}

}  // namespace

TEST(RecordOptions, CommandNeedsNoMark) {
  for (const Words& words : std::vector<Words>{{"./program", "-a", "--x"},
                                               {"--", "./program", "-a", "--x"},
                                               {"-g", "./program", "-a", "--x"},
                                               {"--call-graph", "dwarf", "./program", "-a", "--x"},
                                               {"--call-graph=dwarf,8192", "--", "./program", "-a", "--x"},
                                               {"-PTR", "-F", "99", "./program", "-a", "--x"}}) {
    const TraceOptions options = record(words);
    EXPECT_EQ(options.command, (Words{"./program", "-a", "--x"}));
    EXPECT_FALSE(options.record.all);
  }
  EXPECT_EQ(record({"sh", "--", "x"}).command, (Words{"sh", "--", "x"}));
}

TEST(RecordOptions, OptionsOfPerfForStacksAreNoted) {
  EXPECT_EQ(record({"-g", "true"}).record.stacks_asked, "-g");
  EXPECT_EQ(record({"-agF99"}).record.stacks_asked, "-g");
  EXPECT_EQ(record({"--call-graph", "lbr", "true"}).record.stacks_asked, "--call-graph");
  EXPECT_EQ(record({"--call-graph=fp", "true"}).record.stacks_asked, "--call-graph");
  EXPECT_EQ(record({"true", "-g"}).record.stacks_asked, "");
}

TEST(RecordOptions, StacksOfAnotherKindAreNoCommand) {
  EXPECT_EQ(refusal_of({"record", "--call-graph", "./program", "1"}),
            "--call-graph: unknown value './program' (leave --call-graph out: stacks are always recorded)");
  EXPECT_EQ(refusal_of({"record", "--call-graph=dwarfs", "true"}),
            "--call-graph: unknown value 'dwarfs' (leave --call-graph out: stacks are always recorded)");
}

TEST(RecordOptions, ReportsAreThoseOfReading) {
  EXPECT_EQ(record({"--top", "--sort=self", "--limit=3", "true"}).top.order, report::TopOrder::Self);
  EXPECT_EQ(record({"--top", "--sort=self", "--limit=3", "true"}).top.most, 3);
  const TraceOptions options = record({"--pprof", "out.pb.gz", "true"});
  EXPECT_EQ(options.pprof, "out.pb.gz");
  EXPECT_EQ(options.record.output, "");
  EXPECT_TRUE(options.translation.source.inlines && options.translation.source.lines);
  EXPECT_EQ(record({"true"}).record.output, "perf.data");
  EXPECT_EQ(refusal_of({"record", "--sort", "self", "true"}), "--sort requires --top");
  EXPECT_EQ(refusal_of({"record", "--folded", "-e", "cs,faults", "true"}),
            "--folded shows one event (record to a file, and read it with --event=NAME)");
}

TEST(RecordOptions, MachineIsRecordedWhileACommandRuns) {
  for (const Words& words : std::vector<Words>{
           {"-F", "99", "-a", "sleep", "5"}, {"-F99", "-ag", "sleep", "5"}, {"-agF", "99", "--", "sleep", "5"}}) {
    const TraceOptions options = record(words);
    EXPECT_TRUE(options.record.all);
    EXPECT_EQ(options.record.frequency, 99);
    EXPECT_EQ(options.command, (Words{"sleep", "5"}));
  }
  EXPECT_EQ(record({"-p", "1", "sleep", "5"}).command, (Words{"sleep", "5"}));
  EXPECT_EQ(record({"-p1", "sleep", "5"}).record.processes, std::vector{1});
}

TEST(RecordOptions, EventsAreAList) {
  EXPECT_EQ(record({"-e", "cycles,cs", "-e", "faults", "true"}).record.events, (Words{"cycles", "cs", "faults"}));
  EXPECT_TRUE(record({"-F", "max", "true"}).record.is_most_frequent);
  EXPECT_EQ(refusal_of({"record", "-e", "cycles,", "true"}), "--event requires a name");
  EXPECT_EQ(refusal_of({"record", "-F", "most", "true"}), "--freq requires a number from 1 to 1000000");
}

TEST(RecordOptions, OtherOptionsOfPerfAreRefusedByName) {
  for (const auto& [option, instead] :
       std::vector<std::pair<Words, std::string>>{{{"-z"}, "leave it out"},
                                                  {{"-t", "1"}, "-p PID"},
                                                  {{"-at", "1"}, "-p PID"},
                                                  {{"-u", "nobody"}, "-p $(pgrep -d, -u USER)"},
                                                  {{"--uid=nobody"}, "-p $(pgrep -d, -u USER)"},
                                                  {{"-G", "group"}, "-p PID,PID"},
                                                  {{"--cgroup", "group"}, "-p PID,PID"},
                                                  {{"-D", "100"}, "-p PID"},
                                                  {{"-s"}, "--tid"},
                                                  {{"-d", "5"}, "--duration=TIME"},
                                                  {{"--all-user"}, "-e EVENT:u"},
                                                  {{"--switch-output"}, "--duration=TIME"},
                                                  {{"--inlines"}, "leave it out"},
                                                  {{"--lines"}, "`sframe-trace --lines perf.data`"},
                                                  {{"--debuginfod"}, "as you read the recording"},
                                                  {{"--control", "fd:3"}, "--duration=TIME"},
                                                  {{"--top", "-o", "x.data"}, "`sframe-trace --top`"},
                                                  {{"-V"}, "--version"}}) {
    Words words{"record"};
    words.insert(words.end(), option.begin(), option.end());
    words.emplace_back("true");
    const std::string refusal = refusal_of(words);
    EXPECT_NE(refusal.find(instead), std::string::npos) << option.front() << ": " << refusal;
    EXPECT_EQ(refusal.find('\n'), std::string::npos);
  }
  EXPECT_EQ(refusal_of({"record", "--flamegrap", "out.svg"}),
            "unknown option '--flamegrap' (did you mean '--flamegraph'?)");
}

TEST(ReadingOptions, WordsOfPerfTellWhatToType) {
  for (const auto& [words, instead] :
       std::vector<std::pair<Words, std::string>>{{{"report"}, "--top perf.data"},
                                                  {{"report", "--stdio", "-i", "x.data"}, "--top perf.data"},
                                                  {{"script"}, "use `sframe-trace perf.data`"},
                                                  {{"top"}, "record -a --duration=5s"},
                                                  {{"stat", "ls"}, "perf stat"},
                                                  {{"version"}, "`sframe-trace -V`"},
                                                  {{"probe", "--list"}, "perf probe"},
                                                  {{"--stdio", "perf.data"}, "--top"},
                                                  {{"-g", "perf.data"}, "leave it out"},
                                                  {{"--max-stack=5", "perf.data"}, "--frames=N"},
                                                  {{"sh", "x"}, "`sframe-trace record sh`"},
                                                  {{"/bin/sh"}, "`sframe-trace -- /bin/sh`"}}) {
    const std::string refusal = refusal_of(words);
    EXPECT_NE(refusal.find(instead), std::string::npos) << words.front() << ": " << refusal;
  }
  EXPECT_EQ(read({"help"}).source, Source::Help);
  EXPECT_EQ(read({"--help", "record"}).source, Source::RecordHelp);
  EXPECT_EQ(read({"-V"}).source, Source::Version);
  const TraceOptions options = read({"--top", "-i", "x.data"});
  EXPECT_EQ(options.source, Source::Recording);
  EXPECT_EQ(options.file, "x.data");
  EXPECT_EQ(refusal_of({"-i", "x.data", "y.data"}), "--input and another input (give one of them)");
  EXPECT_NE(refusal_of({"recrod", "./x"}).find("recrod: no command of sframe-trace"), std::string::npos);
  EXPECT_NE(refusal_of({"1", "2"}).find("more than one process"), std::string::npos);
}

/// In a folder that has what perf writes, or has nothing.
TEST(ReadingOptions, ReportsAreOfTheUsualRecording) {
  const Folder folder;
  const auto before = std::filesystem::current_path();
  std::filesystem::current_path(folder.path());
  EXPECT_EQ(refusal_of({"--top"}), "no process, command or recording given (perf.data, or a PID)");
  std::ofstream("perf.data") << "PERFILE2";
  EXPECT_EQ(read({"--top"}).file, "perf.data");
  EXPECT_EQ(read({"--flamegraph", "out.svg"}).source, Source::Recording);
  EXPECT_EQ(refusal_of({"--json"}), "no process, command or recording given (perf.data, or a PID)");
  std::filesystem::current_path(before);
}

/// A core file, as far as its head tells.
TEST(ReadingOptions, TheProgramComesBeforeItsCore) {
  const Folder folder;
  const std::string core = folder / "core", program = folder / "program";
  std::ofstream(core) << std::string("\177ELF\2\1\1\0\0\0\0\0\0\0\0\0\4\0", 18);
  EXPECT_EQ(refusal_of({program, core}), program + ": no such program");
  std::ofstream(program) << "program";
  EXPECT_EQ(read({program, core}).program, program);
  EXPECT_EQ(refusal_of({core, program}), "the program comes first (sframe-trace " + program + " " + core + ")");
  EXPECT_EQ(refusal_of({"--core", core, program}), "--core and another input (name the program by --program)");
}

TEST(EventKind, NamesAreThoseOfPerf) {
  EXPECT_EQ(record::event_named("cpu-cycles").config, PERF_COUNT_HW_CPU_CYCLES);
  EXPECT_EQ(record::event_named("cs").config, PERF_COUNT_SW_CONTEXT_SWITCHES);
  EXPECT_EQ(record::event_named("faults").config, PERF_COUNT_SW_PAGE_FAULTS);
  EXPECT_EQ(record::event_named("migrations").config, PERF_COUNT_SW_CPU_MIGRATIONS);
  const record::EventKind cache = record::event_named("L1-dcache-load-misses");
  EXPECT_EQ(cache.type, PERF_TYPE_HW_CACHE);
  EXPECT_EQ(cache.config, 0x10000);
  EXPECT_EQ(record::event_named("dTLB-store-misses").config, 0x10103);
  EXPECT_EQ(record::event_named("branch-loads").config, 5);
  EXPECT_EQ(record::event_named("r1a8:u").config, 0x1a8);
  for (const char* wrong : {"cycles:x", "cycles:", "cycles:pppp", "cpu/event=0x3c/", "L1-dcache", "cycle", "r"})
    EXPECT_THROW(record::event_named(wrong), UsageError) << wrong;
}

TEST(EventKind, CyclesAreKnown) {
  for (const char* name : {"cycles", "cpu-cycles:u", "cycles:P"})
    EXPECT_TRUE(record::event_named(name).is_cycles()) << name;
  for (const char* name : {"cpu-clock", "instructions", "r0"})
    EXPECT_FALSE(record::event_named(name).is_cycles()) << name;
}

TEST(EventKind, ModifiersAreInTheAttribute) {
  EXPECT_EQ(attribute_of("cycles").precise_ip, 0);
  EXPECT_EQ(attribute_of("cycles:pp").precise_ip, 2);
  EXPECT_EQ(attribute_of("cycles:P").precise_ip, 3);
  const perf_event_attr precise = attribute_of("cycles:upp");
  EXPECT_EQ(precise.precise_ip, 2);
  EXPECT_EQ(precise.exclude_kernel, 1);
  EXPECT_EQ(precise.exclude_user, 0);
  EXPECT_EQ(attribute_of("cycles:k").exclude_user, 1);
  EXPECT_EQ(attribute_of("cycles:uk").exclude_kernel, 0);
}

TEST(EventKind, MostPreciseGoesDownToNothing) {
  record::EventKind kind = record::event_named("cycles:P");
  int steps = 0;
  while (kind.lower_precision()) ++steps;
  EXPECT_EQ(steps, 3);
  EXPECT_EQ(kind.precision, 0);
  record::EventKind exact = record::event_named("cycles:pp");
  EXPECT_FALSE(exact.lower_precision());
}

}  // namespace sframe_gen::test
