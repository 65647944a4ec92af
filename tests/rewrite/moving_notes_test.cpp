// Notes whose numbers count from their own place, as browsers have them: they move, and lead to the same.

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "toolbox.hpp"

namespace sframe_gen::elf::test {
namespace {

/// Finds its own notes by PT_NOTE and follows their numbers, as crash reporters do. `check` returns 7 if all is right.
constexpr const char* program_with_notes = R"(
#define _GNU_SOURCE
#include <link.h>
#include <string.h>
#include <unistd.h>
__asm__(".pushsection .note.crashpad.info, \"a\", @note\n.balign 4\n.long 9, 8, 0x4f464e49\n.asciz \"Crashpad\"\n"
        ".balign 4\n1: .quad info - 1b\n.popsection\n"
        ".pushsection .note.moz.annotation, \"a\", @note\n.balign 4\n.long 14, 16, 0x415a4f4d\n"
        ".asciz \"mozannotation\"\n.balign 4\n2: .quad info - 2b\n3: .quad __ehdr_start - 3b\n.popsection\n"
        ".pushsection .note.moz.toolkit-build-id, \"a\", @note\n.balign 4\n.long 8, 15, 1\n.asciz \"mzbldid\"\n"
        ".asciz \"20261103151912\"\n.balign 4\n.popsection\n"
        ".hidden __ehdr_start\n");
__attribute__((visibility("hidden"), used)) int info = 42;
extern const char __ehdr_start[] __attribute__((visibility("hidden")));
static int look(struct dl_phdr_info *module, size_t size, void *found) {
  for (int i = 0; i < module->dlpi_phnum; ++i) {
    const ElfW(Phdr) *segment = &module->dlpi_phdr[i];
    if (segment->p_type != PT_NOTE) continue;
    const char *at = (const char *)module->dlpi_addr + segment->p_vaddr, *end = at + segment->p_memsz;
    while (end - at >= 12) {
      unsigned header[3];
      long numbers[2] = {0, 0};
      memcpy(header, at, sizeof header);
      const char *name = at + 12, *text = name + ((header[0] + 3) & ~3u);
      memcpy(numbers, text, header[1] < sizeof numbers ? header[1] : sizeof numbers);
      if (strcmp(name, "Crashpad") == 0 && text + numbers[0] == (char *)&info) *(int *)found |= 1;
      if (strcmp(name, "mozannotation") == 0 && text + numbers[0] == (char *)&info &&
          text + 8 + numbers[1] == __ehdr_start) *(int *)found |= 2;
      if (strcmp(name, "mzbldid") == 0 && strcmp(text, "20261103151912") == 0) *(int *)found |= 4;
      at = text + ((header[1] + 3) & ~3u);
    }
  }
  return 0;
}
static int check(void) {
  int found = 0;
  dl_iterate_phdr(look, &found);
  return found;
}
#ifdef LIBRARY
__attribute__((constructor)) static void begin(void) { _exit(check()); }
#else
int main(void) { return check(); }
#endif
)";

class MovingNotes : public testing::Test {
 protected:
  std::filesystem::path link(const std::string& options) {
    write_text(folder_ / "program_with_notes.c", program_with_notes);
    const Outcome linked = run("gcc -O1 -g " + options + " -o " + (folder_ / "linked").string() + " " +
                               (folder_ / "program_with_notes.c").string());
    EXPECT_EQ(linked.status, 0) << linked.output;
    return folder_ / "linked";
  }

  static int status_of(const std::filesystem::path& file, bool is_library) {
    return run(is_library ? "LD_PRELOAD=" + file.string() + " /bin/true" : file.string()).status;
  }

  Folder folder_;
};

TEST_F(MovingNotes, LeadToTheSame) {
  for (const std::string linker : {"bfd", "lld", "mold"}) {
    if (!has_tool("ld." + linker)) continue;
    for (const bool is_library : {false, true}) {
      const auto file =
          link("-fuse-ld=" + linker + " -Wl,--build-id " + (is_library ? "-DLIBRARY -shared -fPIC" : "-pie"));
      ASSERT_EQ(status_of(file, is_library), 7) << linker;
      const Layout layout = inject(file, folder_ / "output", fits_no_gap);
      const auto& moved = layout.moved_sections;
      EXPECT_TRUE(std::ranges::find(moved, ".note.crashpad.info") != moved.end()) << linker;
      EXPECT_EQ(status_of(folder_ / "output", is_library), 7) << linker;
      for (const std::string tool : {"strip", "objcopy", "eu-strip", "llvm-strip", "patchelf --set-rpath /x", "dwz"}) {
        run("cp " + (folder_ / "output").string() + " " + (folder_ / "copy").string());
        EXPECT_EQ(run(tool + " " + (folder_ / "copy").string()).status, 0) << tool;
        EXPECT_EQ(status_of(folder_ / "copy", is_library), 7) << linker << ' ' << tool;
      }
    }
  }
}

TEST_F(MovingNotes, LeadToTheSameUnderOtherLoadersAndTools) {
  inject(link("-pie -fuse-ld=bfd"), folder_ / "output", fits_no_gap);
  const std::string program = (folder_ / "output").string();
  if (has_tool("valgrind")) {
    EXPECT_EQ(run("valgrind -q " + program).status, 7);
  }
  if (has_tool("gdb")) {
    EXPECT_NE(run("gdb -q -batch -ex run " + program).output.find("exited with code 07"), std::string::npos);
  }
  if (!has_tool("musl-gcc")) return;
  ASSERT_EQ(
      run("musl-gcc -O1 -fPIE -pie -o " + program + ".musl " + (folder_ / "program_with_notes.c").string()).status, 0);
  inject(program + ".musl", folder_ / "output", fits_no_gap);
  EXPECT_EQ(run(program).status, 7);
}

TEST_F(MovingNotes, LeadToTheSameWithoutSectionHeaders) {
  change(link("-pie -fuse-ld=bfd"), folder_ / "bare", drop_section_headers);
  inject(folder_ / "bare", folder_ / "output", fits_no_gap);
  EXPECT_EQ(status_of(folder_ / "output", false), 7);
}

/// The file with another number in Crashpad's note.
std::filesystem::path with_other_number(const std::filesystem::path& file, const std::filesystem::path& output,
                                        std::uint64_t more) {
  change(file, output, [&](Fields& f) {
    const std::size_t at = f.bytes.find("Crashpad") + 12;
    const auto number = std::as_writable_bytes(std::span(f.bytes)).subspan(at, 8);
    store<std::uint64_t>(number, load<std::uint64_t>(number, Endian::Little) + more, Endian::Little);
  });
  return output;
}

TEST_F(MovingNotes, StayIfTheyLeadNowhere) {
  const auto file = with_other_number(link("-pie -fuse-ld=bfd"), folder_ / "wild", 1U << 30U);
  std::vector<std::string> moved;
  const std::string failure = failure_of([&] { moved = inject(file, folder_ / "output", fits_no_gap).moved_sections; });
  EXPECT_TRUE(std::ranges::find(moved, ".note.crashpad.info") == moved.end());
  EXPECT_TRUE(failure.empty() || failure.find("its owner \"Crashpad\" may depend") != std::string::npos) << failure;
}

TEST_F(MovingNotes, CheckFollowsTheirNumbers) {
  const auto file = link("-pie -fuse-ld=bfd");
  inject(file, folder_ / "output", fits_no_gap);
  const auto wrong = with_other_number(folder_ / "output", folder_ / "wrong", 4);
  EXPECT_NE(failure_of([&] {
              check_layout(Image::open(file), Image::open(wrong), Contents::All);
            }).find("must keep its bytes"),
            std::string::npos);
}

#ifdef __x86_64__  // where the function of Qt's plugins is known

/// A plugin of Qt: its note is found by PT_NOTE in the file, and by its function once it is loaded. MORE is code that
/// a plugin of Qt has not. The program returns 3 if both give the same.
constexpr const char* qt_plugin = R"(
__asm__(".pushsection .note.qt.metadata, \"a\", @note\n.balign 8\n.long 12, 90, 0x74510001\n.asciz \"qt-project!\"\n"
        ".hidden metadata\nmetadata: .ascii \"metadata of a plugin\"\n.zero 70\n.balign 8\n.popsection\n");
extern const char metadata[] __attribute__((visibility("hidden")));
struct result { const void *data; unsigned long size; };
struct result qt_plugin_query_metadata_v2(void) { return (struct result){metadata, 96}; }
MORE
)";
constexpr const char* qt_host = R"(
#define _GNU_SOURCE
#include <dlfcn.h>
#include <link.h>
#include <string.h>
struct result { const char *data; unsigned long size; };
static const char *in_note;
static int look(struct dl_phdr_info *module, size_t size, void *unused) {
  for (int i = 0; i < module->dlpi_phnum; ++i) {
    const ElfW(Phdr) *segment = &module->dlpi_phdr[i];
    const char *at = (const char *)module->dlpi_addr + segment->p_vaddr;
    if (segment->p_type == PT_NOTE && segment->p_memsz > 24 && strcmp(at + 12, "qt-project!") == 0) in_note = at + 24;
  }
  return 0;
}
int main(int count, char **arguments) {
  void *plugin = dlopen(arguments[1], RTLD_NOW);
  if (plugin == 0) return 1;
  struct result (*query)(void) = (struct result (*)(void))dlsym(plugin, "qt_plugin_query_metadata_v2");
  dl_iterate_phdr(look, 0);
  return (query().data == in_note) + 2 * (strcmp(query().data, "metadata of a plugin") == 0);
}
)";

class QtPlugin : public testing::Test {
 protected:
  void SetUp() override {
    write_text(folder_ / "host.c", qt_host);
    ASSERT_EQ(run("gcc -O1 -o " + host() + ' ' + (folder_ / "host.c").string()).status, 0);
  }

  std::string host() const { return (folder_ / "host").string(); }

  std::filesystem::path link(const std::string& options, const std::string& more = "") {
    write_text(folder_ / "plugin.c", qt_plugin);
    const Outcome linked = run("gcc -O2 -shared -fPIC -s -Wl,--build-id " + options + " '-DMORE=" + more + "' -o " +
                               (folder_ / "plugin.so").string() + ' ' + (folder_ / "plugin.c").string());
    EXPECT_EQ(linked.status, 0) << linked.output;
    return folder_ / "plugin.so";
  }

  int status_of(const std::filesystem::path& plugin) const { return run(host() + ' ' + plugin.string()).status; }

  std::string refusal_of(const std::filesystem::path& plugin) {
    return failure_of([&] { inject(plugin, folder_ / "output", fits_no_gap); });
  }

  Folder folder_;
};

TEST_F(QtPlugin, FindsItsNoteAfterTheMove) {
  for (const std::string options : {"-fuse-ld=bfd", "-fuse-ld=bfd -fcf-protection", "-fuse-ld=lld", "-fuse-ld=mold"}) {
    const auto plugin = link(options);
    ASSERT_EQ(status_of(plugin), 3) << options;
    const Layout layout = inject(plugin, folder_ / "output", fits_no_gap);
    if (options.find("bfd") != std::string::npos) {
      EXPECT_TRUE(std::ranges::find(layout.moved_sections, ".note.qt.metadata") != layout.moved_sections.end());
    }
    EXPECT_EQ(status_of(folder_ / "output"), 3) << options;
    for (const std::string tool : {"strip", "objcopy", "eu-strip", "llvm-strip", "patchelf --set-rpath /x"}) {
      run("cp " + (folder_ / "output").string() + " " + (folder_ / "copy").string());
      EXPECT_EQ(run(tool + " " + (folder_ / "copy").string()).status, 0) << tool;
      EXPECT_EQ(status_of(folder_ / "copy"), 3) << options << ' ' << tool;
    }
  }
}

TEST_F(QtPlugin, FindsItsNoteUnderOtherLoadersAndTools) {
  inject(link("-fuse-ld=bfd"), folder_ / "output", fits_no_gap);
  const std::string command = host() + ' ' + (folder_ / "output").string();
  EXPECT_EQ(run("valgrind -q " + command).status, 3);
  EXPECT_NE(run("gdb -nx -q -batch -ex run --args " + command).output.find("exited with code 03"), std::string::npos);
  ASSERT_EQ(run("musl-gcc -O1 -o " + host() + ".musl " + (folder_ / "host.c").string()).status, 0);
  ASSERT_EQ(run("musl-gcc -O2 -shared -fPIC -s -DMORE= -o " + (folder_ / "musl.so").string() + ' ' +
                (folder_ / "plugin.c").string())
                .status,
            0);
  inject(folder_ / "musl.so", folder_ / "output", fits_no_gap);
  EXPECT_EQ(run(host() + ".musl " + (folder_ / "output").string()).status, 3);
}

TEST_F(QtPlugin, StaysIfOtherCodeReadsItsNote) {
  const auto plugin = link("-fuse-ld=bfd", "const char *other(void) { return metadata + 1; }");
  EXPECT_NE(refusal_of(plugin).find(".note.qt.metadata at 0x"), std::string::npos);
  EXPECT_NE(refusal_of(plugin).find("a symbol, a relocation or code points into it"), std::string::npos);
}

TEST_F(QtPlugin, StaysIfItsFunctionDoesMore) {
  const auto plugin = link("-fuse-ld=bfd");
  change(plugin, folder_ / "changed", [](Fields& f) {
    const std::size_t at = f.bytes.find("\xba\x60\x00\x00\x00\xc3");
    ASSERT_NE(at, std::string::npos);
    f.bytes[at] = '\xbe';  // the size, in another register
  });
  EXPECT_NE(refusal_of(folder_ / "changed").find("its owner \"qt-project!\" may depend on its place"),
            std::string::npos);
}

TEST_F(QtPlugin, MovesBesideATextWithItsName) {
  const auto plugin =
      link("-fuse-ld=bfd", R"(__asm__(".pushsection .note.package, \"a\", @note; .balign 4; .long 4, 17, 0xcafe1a7e;")"
                           R"(".asciz \"FDO\"; .asciz \"{a: qt-project!}\"; .balign 4; .popsection");)");
  inject(plugin, folder_ / "output", fits_no_gap);
  EXPECT_EQ(status_of(folder_ / "output"), 3);
}

TEST_F(QtPlugin, StaysIfTheFirstVersionOfItsFunctionHasOtherData) {
  write_text(folder_ / "versions", "V1 {};");
  const auto plugin = link("-fuse-ld=bfd -Wl,--version-script=" + (folder_ / "versions").string(),
                           R"(__attribute__((symver("qt_plugin_query_metadata_v2@V1"))) struct result earlier(void) )"
                           R"({ return (struct result){"", 1}; })");
  EXPECT_NE(refusal_of(plugin).find("its owner \"qt-project!\" may depend on its place"), std::string::npos)
      << refusal_of(plugin);
}

TEST_F(QtPlugin, CheckFollowsItsFunction) {
  const auto plugin = link("-fuse-ld=bfd");
  inject(plugin, folder_ / "output", fits_no_gap);
  const auto refusal_with = [&](std::size_t from_size, char change_by) {
    change(folder_ / "output", folder_ / "wrong", [&](Fields& f) {
      const std::size_t at = f.bytes.find(std::string("\xba\x60\x00\x00\x00\xc3", 6));
      f.bytes[at - from_size] = static_cast<char>(f.bytes[at - from_size] + change_by);
    });
    return failure_of([&] { check_layout(Image::open(plugin), Image::open(folder_ / "wrong"), Contents::All); });
  };
  EXPECT_EQ(refusal_with(4, 0), "");
  EXPECT_NE(refusal_with(4, 8).find("must be where its function says"), std::string::npos);
  EXPECT_NE(refusal_with(0, 1).find("must keep its bytes"), std::string::npos);
}

#endif

}  // namespace
}  // namespace sframe_gen::elf::test
