// Programs that no dynamic linker loads and that find their relocations by symbols of their linker script.

#include <gtest/gtest.h>

#include "toolbox.hpp"

namespace sframe_gen::elf::test {
namespace {

/// Exits with 0 if it could relocate its pointer.
constexpr const char* self_relocating = R"(
struct Relocation { unsigned long offset, info, addend; };
extern struct Relocation __rela_start[] __attribute__((visibility("hidden")));
extern struct Relocation __rela_end[] __attribute__((visibility("hidden")));
extern char __base[] __attribute__((visibility("hidden")));
static const char* volatile texts[] = {"relocated", "x"};
__attribute__((used)) static void start(void) {
  unsigned long base = (unsigned long)__base, status = 0;
  for (struct Relocation* r = __rela_start; r < __rela_end; ++r)
    if ((r->info & 0xffffffff) == 8) *(unsigned long*)(base + r->offset) = base + r->addend;
  if ((unsigned long)texts[0] < base) status = 1;
  __asm__ volatile("syscall" : : "a"(60), "D"(status) : "rcx", "r11", "memory");
}
__asm__(".globl _start\n_start: and $-16, %rsp\n call start\n hlt\n");
)";

constexpr const char* own_script = R"(
PHDRS { t PT_LOAD FILEHDR PHDRS FLAGS(4); x PT_LOAD FLAGS(5); d PT_LOAD FLAGS(6); dy PT_DYNAMIC FLAGS(6); }
SECTIONS {
  __base = .; . = SIZEOF_HEADERS;
  .rela.dyn : { PROVIDE_HIDDEN(__rela_start = .); *(.rela.*) PROVIDE_HIDDEN(__rela_end = .); } :t
  .hash : { *(.hash) } :t .gnu.hash : { *(.gnu.hash) } :t .dynsym : { *(.dynsym) } :t .dynstr : { *(.dynstr) } :t
  .rodata : { *(.rodata*) } :t .eh_frame : { *(.eh_frame) } :t . = ALIGN(0x1000);
  .text : { *(.text*) } :x . = ALIGN(0x1000); .data : { *(.data*) } :d .dynamic : { *(.dynamic) } :d :dy
  /DISCARD/ : { *(.note*) }
})";

class SelfRelocating : public testing::TestWithParam<const char*> {
 protected:
  void link(const std::string& more) {
    write_text(folder_ / "source.c", self_relocating);
    write_text(folder_ / "script", own_script);
    const std::string program = (folder_ / "program").string();
    const Outcome linked =
        run("gcc -O1 -fPIE -fno-stack-protector -c -o " + program + ".o " + (folder_ / "source.c").string() + " && " +
            GetParam() + " -pie --no-dynamic-linker --build-id=none -T " + (folder_ / "script").string() + " -o " +
            program + " " + program + ".o && " + more + " " + program);
    EXPECT_EQ(linked.status, 0) << linked.output;
    EXPECT_EQ(run(program).status, 0);
  }

  /// It may be refused, but must not break.
  void expect_it_still_starts(std::size_t size) {
    const std::string failure = failure_of([&] { inject(folder_ / "program", folder_ / "output", size); });
    if (failure.empty())
      EXPECT_EQ(run((folder_ / "output").string()).status, 0) << size;
    else
      EXPECT_NE(failure.find("cannot move: a symbol, a relocation or code points into it"), std::string::npos)
          << failure;
  }

  Folder folder_;
};

TEST_P(SelfRelocating, FindsItsRelocations) {
  link("true");
  for (const std::size_t size : {std::size_t{64}, std::size_t{0x2345}}) expect_it_still_starts(size);
}

TEST_P(SelfRelocating, FindsItsRelocationsWithoutSymbols) {
  link("strip");
  for (const std::size_t size : {std::size_t{64}, std::size_t{0x2345}}) expect_it_still_starts(size);
}

INSTANTIATE_TEST_SUITE_P(Linkers, SelfRelocating, testing::Values("ld.bfd", "ld.lld"));

}  // namespace
}  // namespace sframe_gen::elf::test
