// Notes whose numbers count from their own place, as browsers have them: they move, and lead to the same.

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "toolbox.hpp"

namespace sframe_gen::elf::test {
namespace {

constexpr std::size_t fits_no_gap = 0x2345;

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

}  // namespace
}  // namespace sframe_gen::elf::test
