// AArch64's kernel and loader look for "this code wants branch target checks" in PT_GNU_PROPERTY.

#include <gtest/gtest.h>

#include "toolbox.hpp"

namespace sframe_gen::elf::test {
namespace {

/// With an argument, the program jumps to where no landing pad is: the processor stops it, if it was told to check.
constexpr const char* protected_code = R"(
__asm__(".globl _start\n_start: bti c\n ldr x0, [sp]\n cmp x0, 1\n b.eq 1f\n adr x1, 1f\n br x1\n"
        "1: mov x0, 0\n mov x8, 93\n svc 0\n");
)";

constexpr int stopped = 128 + 4;  ///< SIGILL, as the shell says it

class BranchProtection : public testing::TestWithParam<const char*> {
 protected:
  std::filesystem::path link(const std::string& options) {
    write_text(folder_ / "a.c", std::string(protected_code) + GetParam());
    auto file = folder_ / "a";
    const Outcome linked = run("aarch64-linux-gnu-gcc -mbranch-protection=standard -nostdlib -Wl,--build-id=none " +
                               options + " -o " + file.string() + " " + (folder_ / "a.c").string());
    EXPECT_EQ(linked.status, 0) << linked.output;
    return file;
  }

  static void expect_checked(const std::filesystem::path& file) {
    const std::string command = "qemu-aarch64 -cpu max " + file.string();
    EXPECT_EQ(run(command).status, 0);
    EXPECT_EQ(run("( ulimit -c 0; " + command + " jump; exit $? )").status, stopped);
    EXPECT_NE(run("aarch64-linux-gnu-readelf -nW " + file.string()).output.find("BTI"), std::string::npos);
  }

  Folder folder_;
};

TEST_P(BranchProtection, StaysOn) {
  const bool note_is_fixed = GetParam()[0] != '\0';
  bool dropped_a_note = false;
  for (const std::string kind : {"-static -no-pie -Wl,-z,separate-code", "-static-pie -Wl,-z,separate-code",
                                 "-static -no-pie -Wl,-Ttext=0x401000"}) {
    SCOPED_TRACE(kind);
    const auto file = link(kind);
    expect_checked(file);
    for (const std::size_t size : {std::size_t{64}, std::size_t{0x12345}}) {
      const std::string why = failure_of([&] { inject(file, folder_ / "output", size); });
      if (note_is_fixed && !why.empty()) {
        EXPECT_NE(why.find("no room for more program headers: section .note.gnu.property"), std::string::npos) << why;
        continue;
      }
      ASSERT_EQ(why, "");
      const Image output = Image::open(folder_ / "output");
      dropped_a_note = dropped_a_note || output.find_segment(PT_NOTE) == nullptr;
      expect_checked(folder_ / "output");
      ASSERT_EQ(run("aarch64-linux-gnu-strip " + (folder_ / "output").string()).output, "");
      expect_checked(folder_ / "output");
    }
  }
  EXPECT_TRUE(dropped_a_note || !note_is_fixed);
}

// A name for the note keeps it where it is, so that its PT_NOTE has to give way.
INSTANTIATE_TEST_SUITE_P(
    Notes, BranchProtection,
    testing::Values("", "__asm__(\".section .note.gnu.property, \\\"a\\\"\\n.globl name\\nname:\\n\");\n"),
    [](const auto& parameter) { return std::string(parameter.index == 0 ? "movable" : "fixed"); });

// The linker takes over the flags of the first section of that name, also where they are none.
TEST(BranchProtectionOf, NotesThatAreNotLoadedIsKept) {
  const Folder folder;
  write_text(folder / "a.s",
             "  .section .note.gnu.property, \"\", %note\n  .balign 8\n  .word 4, 16, 5\n"
             "  .asciz \"GNU\"\n  .word 0xc0000000, 4, 1, 0\n  .text\n  .globl _start\n_start: nop\n");
  for (const std::string kind : {"-static-pie -Wl,-z,separate-code", "-shared"}) {
    ASSERT_EQ(run("aarch64-linux-gnu-gcc -nostdlib " + kind + " -o " + (folder / "a").string() + " " +
                  (folder / "a.s").string())
                  .status,
              0);
    ASSERT_EQ(Image::open(folder / "a").find_segment(PT_GNU_PROPERTY)->p_memsz, 0U);
    for (const std::size_t size : {std::size_t{64}, std::size_t{0x12345}})
      inject(folder / "a", folder / "output", size);
  }
}

}  // namespace
}  // namespace sframe_gen::elf::test
