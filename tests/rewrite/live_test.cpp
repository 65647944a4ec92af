// Links small programs in many ways, gives them a payload as .sframe, and lets them look at themselves.

#include <gtest/gtest.h>

#include "compiled.hpp"
#include "probe.hpp"
#include "toolbox.hpp"

namespace sframe_gen::elf::test {
namespace {

struct Linkage {
  const char* name;
  const char* compiler;
  const char* options;
};

void PrintTo(const Linkage& linkage, std::ostream* stream) {
  *stream << linkage.name;
}

constexpr std::array linkages{
    Linkage{"pie", "g++", "-pie"},
    Linkage{"no_pie", "g++", "-no-pie"},
    Linkage{"static", "g++", "-static"},
    Linkage{"static_pie", "g++", "-static-pie"},
    Linkage{"gold_pie", "g++", "-fuse-ld=gold -pie"},
    Linkage{"gold_no_pie", "g++", "-fuse-ld=gold -no-pie"},
    Linkage{"lld_pie", "clang++", "-fuse-ld=lld -pie"},
    Linkage{"lld_no_pie", "clang++", "-fuse-ld=lld -no-pie"},
    Linkage{"lld_no_build_id", "g++", "-fuse-ld=lld -pie -Wl,--build-id=none"},
    Linkage{"gold_static", "g++", "-fuse-ld=gold -static"},
    Linkage{"lld_static", "g++", "-fuse-ld=lld -static"},
    Linkage{"relr", "g++", "-pie -Wl,-z,pack-relative-relocs"},
    Linkage{"noseparate_code", "g++", "-pie -Wl,-z,noseparate-code"},
    Linkage{"noseparate_code_no_pie", "g++", "-no-pie -Wl,-z,noseparate-code"},
    Linkage{"pages_of_64k", "g++", "-pie -Wl,-z,max-page-size=0x10000"},
    Linkage{"pages_of_2m", "g++", "-pie -Wl,-z,max-page-size=0x200000"},
    Linkage{"old_pages_of_2m", "g++", "-no-pie -Wl,-z,max-page-size=0x200000,-z,noseparate-code"},
    Linkage{"no_build_id", "g++", "-pie -Wl,--build-id=none"},
    Linkage{"hash_sysv", "g++", "-pie -Wl,--hash-style=sysv"},
    Linkage{"hash_both", "g++", "-no-pie -Wl,--hash-style=both"},
    Linkage{"norelro", "g++", "-pie -Wl,-z,norelro"},
    Linkage{"now", "g++", "-pie -Wl,-z,now"},
    Linkage{"clang", "clang++", "-pie -fuse-ld=bfd"},
};

class Live : public testing::TestWithParam<Linkage> {
 protected:
  void SetUp() override {
    if (!has_tool(GetParam().compiler)) return;
    const std::string options = GetParam().options;
    for (const std::string linker : {"gold", "lld"}) {
      if (options.find("-fuse-ld=" + linker) != std::string::npos && !has_tool("ld." + linker)) return;
    }
  }

  /// `code`: options for what is compiled, `more`: for the linker.
  static void link(const std::string& source, const std::filesystem::path& output, const std::string& code = {},
                   const std::string& more = {}) {
    const std::string command = std::string(GetParam().compiler) + " -O1 -g -pthread " + code;
    const Outcome linked = run(command + " " + GetParam().options + " " + more + " -o " + output.string() + " " +
                               compiled(command, source));
    ASSERT_EQ(linked.status, 0) << linked.output;
  }

  static void expect_readable(const std::filesystem::path& file) {
    EXPECT_EQ(run("readelf -aW " + file.string() + " >/dev/null").output, "");
  }

  Folder folder_;
};

TEST_P(Live, SurvivesInjectionAndTools) {
  const auto original = folder_ / "original";
  link(probe_program(), original);
  ASSERT_EQ(run(original.string() + " 0").output, "");
  for (const std::size_t size : {std::size_t{64}, std::size_t{0x2345}}) {
    const auto output = folder_ / "output";
    ASSERT_EQ(failure_of([&] { inject(original, output, size); }), "");
    const std::string argument = " " + std::to_string(size);
    const Outcome outcome = run(output.string() + argument);
    EXPECT_EQ(outcome.status, 0) << outcome.output;
    expect_readable(output);
    for (const char* tool : {"strip", "strip -g", "objcopy", "eu-strip"}) {
      if (!has_tool(std::string(tool).substr(0, std::string(tool).find(' ')))) continue;
      const auto copy = folder_ / "copy";
      std::filesystem::copy_file(output, copy, std::filesystem::copy_options::overwrite_existing);
      EXPECT_EQ(run(tool + (" " + copy.string())).output, "") << tool;
      EXPECT_EQ(run(copy.string() + argument).status, 0) << tool << ", " << size;
      expect_readable(copy);
    }
    inject(output, folder_ / "again", size);
    EXPECT_TRUE(read_text(output) == read_text(folder_ / "again")) << "a second run changes something";
  }
}

INSTANTIATE_TEST_SUITE_P(Linkages, Live, testing::ValuesIn(linkages),
                         [](const auto& parameter) { return std::string(parameter.param.name); });

class LiveLibrary : public Live {};

TEST_P(LiveLibrary, SurvivesInjectionAndTools) {
  const auto original = folder_ / "libtested.so";
  link(probe_body, original, "-fPIC", "-shared");
  write_text(folder_ / "main.c",
             "#include <stdlib.h>\nint look(unsigned long);\nint main(int c, char** v) { return look(strtoul(v[1], 0, "
             "0)); }\n");
  const auto program = folder_ / "program";
  const Outcome linked = run("gcc -o " + program.string() + " " + (folder_ / "main.c").string() + " " +
                             original.string() + " -Wl,-rpath,'$ORIGIN'");
  ASSERT_EQ(linked.status, 0) << linked.output;
  ASSERT_EQ(run("LD_BIND_NOW=1 LD_WARN=1 " + program.string() + " 0").output, "");
  for (const std::size_t size : {std::size_t{64}, std::size_t{0x2345}}) {
    const auto output = folder_ / "output.so";
    inject(original, output, size);
    for (const char* tool : {"true", "strip", "objcopy", "eu-strip"}) {
      if (!has_tool(tool)) continue;
      std::filesystem::create_directories(folder_ / "with");
      const auto copy = folder_ / "with/libtested.so";
      std::filesystem::copy_file(output, copy, std::filesystem::copy_options::overwrite_existing);
      EXPECT_EQ(run(tool + (" " + copy.string())).output, "") << tool;
      const Outcome outcome =
          run("LD_LIBRARY_PATH=" + (folder_ / "with").string() + " LD_BIND_NOW=1 LD_WARN=1 ldd " + program.string() +
              " >/dev/null; LD_PRELOAD=" + copy.string() + " " + program.string() + " " + std::to_string(size));
      EXPECT_EQ(outcome.status, 0) << tool << ": " << outcome.output;
      expect_readable(copy);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Linkages, LiveLibrary,
                         testing::Values(Linkage{"bfd", "g++", ""}, Linkage{"gold", "g++", "-fuse-ld=gold"},
                                         Linkage{"lld", "clang++", "-fuse-ld=lld"},
                                         Linkage{"both_hashes", "g++", "-Wl,--hash-style=both"},
                                         Linkage{"sysv_hash", "g++", "-Wl,--hash-style=sysv"},
                                         Linkage{"noseparate_code", "g++", "-Wl,-z,noseparate-code"},
                                         Linkage{"relr", "g++", "-Wl,-z,pack-relative-relocs"}),
                         [](const auto& parameter) { return std::string(parameter.param.name); });

}  // namespace
}  // namespace sframe_gen::elf::test
