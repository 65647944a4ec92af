// Links small programs in many ways, gives them a payload as .sframe, and lets them look at themselves.

#include <gtest/gtest.h>

#include "toolbox.hpp"

namespace sframe_gen::elf::test {
namespace {

/// Exits with 0 when everything is as it should be. PAYLOAD is the size expected, 0 for none.
constexpr const char* body = R"(
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <stdexcept>
#include <string>
#include <thread>

static thread_local int initialised_tls = 42;
static thread_local int zero_tls[100];
static char big_space[1 << 20];
static int constructed;
__attribute__((constructor)) static void construct() { constructed = 7; }
static int implementation() { return 5; }
extern "C" {
int (*resolve())() { return implementation; }
int chosen() __attribute__((ifunc("resolve")));
}

struct Search { unsigned long here; unsigned long size; int found; int wrong; };

static int visit(struct dl_phdr_info* info, size_t, void* data) {
  Search* search = static_cast<Search*>(data);
  bool mine = false;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const auto& p = info->dlpi_phdr[i];
    mine |= p.p_type == PT_LOAD && search->here - (info->dlpi_addr + p.p_vaddr) < p.p_memsz;
  }
  for (int i = 0; mine && i < info->dlpi_phnum; ++i) {
    const auto& p = info->dlpi_phdr[i];
    if (p.p_type != 0x6474e554) continue;
    ++search->found;
    const unsigned char* bytes = reinterpret_cast<const unsigned char*>(info->dlpi_addr + p.p_vaddr);
    search->wrong |= p.p_memsz != search->size || p.p_filesz != search->size;
    for (unsigned long k = 0; k < p.p_memsz; ++k) search->wrong |= bytes[k] != ((k * 7 + 1) & 0xff);
  }
  return 0;
}

__attribute__((noinline)) static void thrower(int depth) {
  if (depth == 0) throw std::runtime_error("thrown");
  thrower(depth - 1);
  asm volatile("");
}

extern "C" int look(unsigned long size) {
  Search search{reinterpret_cast<unsigned long>(&visit), size, 0, 0};
  dl_iterate_phdr(visit, &search);
  if (search.found != (size != 0 ? 1 : 0) || search.wrong) return printf("payload %d %d\n", search.found, search.wrong), 1;
  if (initialised_tls != 42 || zero_tls[50] != 0) return puts("TLS"), 2;
  for (char c : big_space) if (c != 0) return puts(".bss"), 3;
  memset(big_space, 1, sizeof big_space);
  if (constructed != 7) return puts("constructor"), 4;
  if (chosen() != 5) return puts("ifunc"), 5;
  std::string text;
  try { thrower(5); } catch (const std::exception& e) { text = e.what(); }
  if (text != "thrown") return puts("exception"), 6;
  char* more = static_cast<char*>(sbrk(1 << 16));
  if (more == reinterpret_cast<char*>(-1)) return puts("sbrk"), 7;
  memset(more, 1, 1 << 16);
  for (int i = 0; i < 100; ++i) memset(malloc(10000), 1, 10000);
  int other = 0;
  std::thread([&] { other = initialised_tls; }).join();
  return other == 42 ? 0 : (puts("thread"), 8);
}
)";

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
    if (!has_tool(GetParam().compiler)) FAIL() << GetParam().compiler << " is not installed";
    const std::string options = GetParam().options;
    for (const char* linker : {"gold", "lld"}) {
      if (options.find(std::string("-fuse-ld=") + linker) != std::string::npos &&
          !has_tool(std::string("ld.") + linker))
        FAIL() << linker << " is not installed";
    }
  }

  void link(const std::string& source, const std::filesystem::path& output, const std::string& more = {}) const {
    write_text(folder_ / "source.cpp", source);
    const Outcome linked = run(std::string(GetParam().compiler) + " -O1 -g -pthread " + GetParam().options + " " +
                               more + " -o " + output.string() + " " + (folder_ / "source.cpp").string());
    ASSERT_EQ(linked.status, 0) << linked.output;
  }

  static void expect_readable(const std::filesystem::path& file) {
    EXPECT_EQ(run("readelf -aW " + file.string() + " >/dev/null").output, "");
  }

  Folder folder_;
};

constexpr const char* program_end = "int main(int, char** v) { return look(strtoul(v[1], nullptr, 0)); }\n";

TEST_P(Live, SurvivesInjectionAndTools) {
  const auto original = folder_ / "original";
  link(std::string(body) + program_end, original);
  ASSERT_EQ(run(original.string() + " 0").output, "");
  for (const std::size_t size : {std::size_t{64}, std::size_t{0x2345}}) {
    const auto output = folder_ / "output";
    std::string why = failure_of([&] { inject(original, output, size); });
    if (!why.empty() && std::string_view(GetParam().name).find("static") == 0) {
      // .rela.plt of a static program is found by symbols, so it stays.
      EXPECT_NE(why.find(".rela.plt"), std::string::npos) << why;
      continue;
    }
    ASSERT_EQ(why, "");
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
  link(body, original, "-shared -fPIC");
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
