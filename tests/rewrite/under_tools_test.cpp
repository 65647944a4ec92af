// Each way to make room, under the loaders and tools that people run programs with.

#include <gtest/gtest.h>

#include <optional>
#include <regex>
#include <string>

#include "toolbox.hpp"

namespace sframe_gen::elf::test {
namespace {

/// Ends with status 7, at once or, with an argument, after long enough for perf to see `busy`.
constexpr const char* busy_source = R"(
volatile long steps;
__attribute__((noinline)) int busy(int times) { for (long i = 0; i < times; ++i) steps += i; return 7; }
)";
constexpr const char* main_source = "int busy(int); int main(int n, char **a) { return busy(n > 1 ? 10000000 : 9); }\n";

class UnderTools : public testing::Test {
 protected:
  void SetUp() override {
    write_text(folder_ / "busy.c", busy_source);
    write_text(folder_ / "main.c", main_source);
  }

  /// A program that has busy() itself, or has it from a library, which is then what is converted.
  std::filesystem::path link(const std::string& command, bool in_library) {
    const std::string directory = "cd " + folder_.path().string() + " && ";
    const std::string sources = in_library ? " -o program main.c -L. -lbusy -Wl,-rpath," + folder_.path().string()
                                           : " -o program main.c busy.c";
    if (in_library) {
      const Outcome library = run(directory + command + " -shared -fPIC -Wl,--hash-style=both -o libbusy.so busy.c");
      EXPECT_EQ(library.status, 0) << library.output;
    }
    const Outcome linked = run(directory + command + sources);
    EXPECT_EQ(linked.status, 0) << linked.output;
    return folder_ / (in_library ? "libbusy.so" : "program");
  }

  /// Puts a section of `size` bytes into the file, in its place.
  Layout convert(const std::filesystem::path& file, std::size_t size) {
    Layout layout = inject(file, folder_ / "output", size);
    std::filesystem::permissions(folder_ / "output", std::filesystem::perms::owner_all);
    std::filesystem::rename(folder_ / "output", file);
    return layout;
  }

  void expect_plan(const Layout& layout, const std::string& section, const std::string& table) {
    EXPECT_EQ(name_of(layout.section_plan), section);
    EXPECT_EQ(name_of(layout.table_plan), table);
  }

  void expect_runs() { EXPECT_EQ(run(program()).status, 7); }

  void expect_debugs() {
    if (!has_tool("gdb")) return;
    const std::string said =
        run("gdb -nx -q -batch -ex 'set breakpoint pending on' -ex 'break busy' -ex run -ex bt -ex continue " +
            program())
            .output;
    EXPECT_NE(said.find("in main ("), std::string::npos) << said;
    EXPECT_NE(said.find("exited with code 07"), std::string::npos) << said;
  }

  /// Not every build machine lets perf record. Whatever else keeps it from that is a failure.
  void expect_profiles() {
    if (!has_tool("perf")) return;
    const std::string data = (folder_ / "perf.data").string();
    const std::string recorded = run("perf record -N -o " + data + ' ' + program() + " again").output;
    const std::regex forbidden("perf_event_paranoid|not permitted|Permission denied|not supported|not implemented");
    if (std::regex_search(recorded, forbidden)) return;
    const std::string said = run("perf script -F ip,sym,dso -i " + data).output;
    EXPECT_NE(said.find(" busy "), std::string::npos) << recorded << said;
  }

  void expect_runs_under_valgrind() {
    if (!has_tool("valgrind")) return;
    const Outcome outcome = run("valgrind -q " + program());
    EXPECT_EQ(outcome.status, 7) << outcome.output;
  }

  std::string program() const { return (folder_ / "program").string(); }

  Folder folder_;
};

TEST_F(UnderTools, ASectionInAGapAndNotesThatMoved) {
  expect_plan(convert(link("gcc -O1 -pie -fuse-ld=bfd", false), fits_a_gap), "S1", "T1");
  expect_runs();
  expect_debugs();
  expect_profiles();
}

TEST_F(UnderTools, ASegmentAndNotesThatMoved) {
  expect_plan(convert(link("gcc -O1 -pie -fuse-ld=bfd", false), fits_no_gap), "S2", "T1");
  expect_runs();
  expect_debugs();
  expect_profiles();
  expect_runs_under_valgrind();
}

TEST_F(UnderTools, ASegmentAndTablesThatMoved) {
  expect_plan(convert(link("gcc -O1 -fuse-ld=bfd", true), fits_no_gap), "S2", "T2");
  expect_runs();
  expect_debugs();
  expect_profiles();
  expect_runs_under_valgrind();
}

TEST_F(UnderTools, PagesBelow) {
  const auto file = link("gcc -O1 -static -fuse-ld=bfd", false);
  change(file, folder_ / "changed", [](Fields& f) { f.segment(PT_GNU_PROPERTY).p_type = PT_NOTE; });
  std::filesystem::rename(folder_ / "changed", file);
  expect_plan(convert(file, fits_no_gap), "S3", "T3");
  expect_runs();
  expect_debugs();
  expect_profiles();
  expect_runs_under_valgrind();
}

TEST_F(UnderTools, FreeProgramHeaders) {
  const auto file = link("gcc -O1 -fuse-ld=bfd", true);
  change(file, folder_ / "changed", [](Fields& f) {
    f.segment(PT_GNU_STACK).p_type = PT_NULL;
    f.segment(PT_GNU_RELRO).p_type = PT_NULL;
  });
  std::filesystem::rename(folder_ / "changed", file);
  expect_plan(convert(file, fits_no_gap), "S2", "T0");
  expect_runs();
  expect_debugs();
}

TEST_F(UnderTools, OtherLinkers) {
  for (const std::string linker : {"lld", "mold"}) {
    if (!has_tool("ld." + linker)) continue;
    for (const bool in_library : {false, true}) {
      for (const std::size_t size : {fits_a_gap, fits_no_gap}) {
        convert(link("gcc -O1 -fuse-ld=" + linker, in_library), size);
        expect_runs();
      }
    }
  }
}

TEST_F(UnderTools, OtherLoader) {
  if (!has_tool("musl-gcc")) return;
  for (const std::string kind : {"-pie -fPIE", "-static", "-no-pie"}) {
    for (const std::size_t size : {fits_a_gap, fits_no_gap}) {
      convert(link("musl-gcc -O1 " + kind, false), size);
      expect_runs();
    }
  }
  expect_plan(convert(link("musl-gcc -O1", true), fits_no_gap), "S2", "T2");
  expect_runs();
  expect_debugs();
}

}  // namespace
}  // namespace sframe_gen::elf::test
