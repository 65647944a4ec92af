// ld --emit-relocs keeps the relocations of what it linked.

#include <gtest/gtest.h>

#include "toolbox.hpp"

namespace sframe_gen::elf::test {
namespace {

std::filesystem::path link(const Folder& folder, const std::string& more) {
  write_text(folder / "a.s", "  .globl _start\n_start: nop\n" + more);
  write_text(folder / "script", R"(
PHDRS { t PT_LOAD FILEHDR PHDRS FLAGS(5); s 0x6474e554 FLAGS(4); }
SECTIONS { . = 0x400000 + SIZEOF_HEADERS + 0x100; .text : { *(.text) } :t .sframe : { *(.input) } :t :s })");
  const Outcome linked =
      run("gcc -no-pie -static -nostdlib -fuse-ld=bfd -Wl,-q,--build-id=none,-T," + (folder / "script").string() +
          " -o " + (folder / "program").string() + " " + (folder / "a.s").string());
  EXPECT_EQ(linked.status, 0) << linked.output;
  return folder / "program";
}

TEST(EmittedRelocations, OfSframeWouldNotFitAnother) {
  const Folder folder;
  const auto program = link(folder, "  .section .input, \"a\", @progbits\n  .8byte _start - ., 7\n");
  ASSERT_NE(Image::open(program).find_section(".rela.sframe"), nullptr);
  const std::string failure = failure_of([&] { inject(program, folder / "output", 64); });
  EXPECT_NE(failure.find("cannot get another .sframe: the one it has has relocations of its own (ld --emit-relocs)"),
            std::string::npos)
      << failure;
}

TEST(EmittedRelocations, OfOtherSectionsDoNotMatter) {
  const Folder folder;
  const auto program = link(folder,
                            "  .section .input, \"a\", @progbits\n  .8byte 7, 7\n"
                            "  .text\n  lea _start(%rip), %rax\n  movl $later, %eax\n"
                            "  .data\nlater: .8byte _start\n");
  ASSERT_NE(Image::open(program).find_section(".rela.text"), nullptr);
  inject(program, folder / "output", 64);
}

}  // namespace
}  // namespace sframe_gen::elf::test
