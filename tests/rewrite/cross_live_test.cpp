// The same as live_test.cpp for other machines: cross-compiled, run by qemu, and passed through that machine's tools.

#include <gtest/gtest.h>

#include <string>
#include <tuple>

#include "compiled.hpp"
#include "elf/machine.hpp"
#include "probe.hpp"
#include "toolbox.hpp"

namespace sframe_gen::elf::test {
namespace {

struct Target {
  const char* name;    ///< of the test
  const char* triple;  ///< of the tools
  const char* emulator;
};

constexpr Target aarch64{"aarch64", "aarch64-linux-gnu", "qemu-aarch64"};
constexpr Target s390x{"s390x", "s390x-linux-gnu", "qemu-s390x"};

struct Option {
  const char* name;
  const char* text;
  bool by_clang = false;  ///< GCC for another machine finds that machine's linkers only
};

constexpr std::array kinds{Option{"pie", "-pie -fPIE"}, Option{"no_pie", "-no-pie -fno-pie"},
                           Option{"static", "-static -no-pie -fno-pie"}};
constexpr Option static_pie{"static_pie", "-static-pie -fPIE"};

constexpr std::array ways_to_link{Option{"as_it_comes", ""},
                                  Option{"separate_code", "-Wl,-z,separate-code"},
                                  Option{"noseparate_code", "-Wl,-z,noseparate-code"},
                                  Option{"pages_of_4k", "-Wl,-z,max-page-size=0x1000"},
                                  Option{"pages_of_64k", "-Wl,-z,max-page-size=0x10000"},
                                  Option{"no_build_id", "-Wl,--build-id=none"},
                                  Option{"hash_both", "-Wl,--hash-style=both"}};

constexpr Option gold{"gold", "-fuse-ld=gold"};
constexpr Option lld{"lld", "-fuse-ld=lld", true};
constexpr Option mold{"mold", "-fuse-ld=mold", true};

using Parameters = std::tuple<Target, Option, Option>;

void PrintTo(const Target& target, std::ostream* stream) {
  *stream << target.name;
}
void PrintTo(const Option& option, std::ostream* stream) {
  *stream << option.name;
}

std::string name_of(const testing::TestParamInfo<Parameters>& info) {
  const auto& [target, kind, option] = info.param;
  return std::string(target.name) + "_" + kind.name + "_" + option.name;
}

class CrossLive : public testing::TestWithParam<Parameters> {
 protected:
  const Target& target() const { return std::get<0>(GetParam()); }
  std::string compiler() const {
    return std::get<2>(GetParam()).by_clang ? "clang++ --target=" + std::string(target().triple) : tool("g++");
  }
  std::string tool(const std::string& name) const { return std::string(target().triple) + "-" + name; }
  std::string emulated(const std::string& environment = {}) const {
    return std::string(target().emulator) + " -L /usr/" + target().triple + " " + environment;
  }

  void link(const std::string& source, const std::filesystem::path& output) const {
    const auto& [unused, kind, option] = GetParam();
    const std::string command = compiler() + " -O1 -g -pthread " + kind.text;
    const Outcome linked =
        run(command + " " + option.text + " -o " + output.string() + " " + compiled(command, source));
    ASSERT_EQ(linked.status, 0) << linked.output;
  }

  /// What rewrites files behind us; "true" leaves them.
  std::vector<std::string> tools() const {
    return {"true", tool("strip"), tool("strip") + " -g", tool("objcopy"), "eu-strip"};
  }

  void expect_readable(const std::filesystem::path& file) const {
    EXPECT_EQ(run(tool("readelf") + " -aW " + file.string() + " >/dev/null").output, "");
  }

  Folder folder_;
};

TEST_P(CrossLive, SurvivesInjectionAndTools) {
  const auto original = folder_ / "original";
  link(probe_program(), original);
  ASSERT_EQ(run(emulated() + original.string() + " 0").output, "");
  for (const std::size_t size : {std::size_t{64}, std::size_t{0x12345}}) {
    SCOPED_TRACE(size);
    const auto output = folder_ / "output";
    const std::string why = failure_of([&] { inject(original, output, size); });
    if (!why.empty() && std::string_view(std::get<1>(GetParam()).name) == "static") {
      // Relocations of a static program are found by symbols, so they stay.
      EXPECT_NE(why.find("no room for more program headers: section .rela."), std::string::npos) << why;
      continue;
    }
    ASSERT_EQ(why, "");
    const std::string argument = " " + std::to_string(size);
    for (const std::string& command : tools()) {
      const auto copy = folder_ / "copy";
      std::filesystem::copy_file(output, copy, std::filesystem::copy_options::overwrite_existing);
      EXPECT_EQ(run(command + " " + copy.string()).output, "") << command;
      const Outcome outcome = run(emulated() + copy.string() + argument);
      EXPECT_EQ(outcome.status, 0) << command << ", " << size << ": " << outcome.output;
      expect_readable(copy);
    }
    inject(output, folder_ / "again", size);
    EXPECT_TRUE(read_text(output) == read_text(folder_ / "again")) << "a second run changes something";
  }
}

INSTANTIATE_TEST_SUITE_P(Links, CrossLive,
                         testing::Combine(testing::Values(aarch64, s390x), testing::ValuesIn(kinds),
                                          testing::ValuesIn(ways_to_link)),
                         name_of);
// Debian's s390x libc has no rcrt1.o.
INSTANTIATE_TEST_SUITE_P(StaticPies, CrossLive,
                         testing::Combine(testing::Values(aarch64), testing::Values(static_pie),
                                          testing::ValuesIn(ways_to_link)),
                         name_of);
// Programs that gold 2.40 links statically for AArch64 abort, and LLD 14 knows no s390x.
INSTANTIATE_TEST_SUITE_P(LldAndMold, CrossLive,
                         testing::Combine(testing::Values(aarch64),
                                          testing::Values(kinds[0], kinds[1], kinds[2], static_pie),
                                          testing::Values(lld, mold)),
                         name_of);
INSTANTIATE_TEST_SUITE_P(Gold, CrossLive,
                         testing::Combine(testing::Values(aarch64, s390x), testing::Values(kinds[0], kinds[1]),
                                          testing::Values(gold)),
                         name_of);
INSTANTIATE_TEST_SUITE_P(Mold, CrossLive,
                         testing::Combine(testing::Values(s390x), testing::ValuesIn(kinds), testing::Values(mold)),
                         name_of);

class CrossLiveLibrary : public CrossLive {};

TEST_P(CrossLiveLibrary, SurvivesInjectionAndTools) {
  const auto original = folder_ / "libtested.so";
  link(probe_body, original);
  write_text(folder_ / "main.c", probe_library_user);
  const auto program = folder_ / "program";
  const Outcome linked = run(tool("gcc") + " -o " + program.string() + " " + (folder_ / "main.c").string() + " " +
                             original.string() + " -Wl,-rpath,'$ORIGIN'");
  ASSERT_EQ(linked.status, 0) << linked.output;
  ASSERT_EQ(run(emulated("-E LD_BIND_NOW=1 -E LD_WARN=1 ") + program.string() + " 0").output, "");
  for (const std::size_t size : {std::size_t{64}, std::size_t{0x12345}}) {
    const auto output = folder_ / "output.so";
    inject(original, output, size);
    for (const std::string& command : tools()) {
      std::filesystem::create_directories(folder_ / "with");
      const auto copy = folder_ / "with/libtested.so";
      std::filesystem::copy_file(output, copy, std::filesystem::copy_options::overwrite_existing);
      EXPECT_EQ(run(command + " " + copy.string()).output, "") << command;
      const Outcome outcome = run(emulated("-E LD_LIBRARY_PATH=" + (folder_ / "with").string() +
                                           " -E LD_BIND_NOW=1 -E LD_WARN=1 -E LD_PRELOAD=" + copy.string() + " ") +
                                  program.string() + " " + std::to_string(size));
      EXPECT_EQ(outcome.status, 0) << command << ", " << size << ": " << outcome.output;
      EXPECT_EQ(outcome.output, "") << command;
      expect_readable(copy);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Links, CrossLiveLibrary,
                         testing::Combine(testing::Values(aarch64, s390x),
                                          testing::Values(Option{"library", "-shared -fPIC"}),
                                          testing::ValuesIn(ways_to_link)),
                         name_of);

INSTANTIATE_TEST_SUITE_P(OtherLinkers, CrossLiveLibrary,
                         testing::Combine(testing::Values(aarch64), testing::Values(Option{"library", "-shared -fPIC"}),
                                          testing::Values(gold, lld, mold)),
                         name_of);
INSTANTIATE_TEST_SUITE_P(OtherLinkersOfS390x, CrossLiveLibrary,
                         testing::Combine(testing::Values(s390x), testing::Values(Option{"library", "-shared -fPIC"}),
                                          testing::Values(gold, mold)),
                         name_of);

}  // namespace
}  // namespace sframe_gen::elf::test
