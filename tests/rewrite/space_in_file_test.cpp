// .bss before bytes from the file: its zeros are in the file, but no header claims them.

#include <gtest/gtest.h>

#include "toolbox.hpp"

namespace sframe_gen::elf::test {
namespace {

/// Exits with 0 if all of its space is zero.
constexpr const char* far_data = R"(
char space[0x200] __attribute__((section(SPACE)));
int data = 5;
__attribute__((used)) static void start(void) {
  long status = data != 5;
  for (int i = 0; i < 0x200; ++i) status |= ((volatile char*)space)[i] != 0;
  __asm__ volatile("syscall" : : "a"(60), "D"(status) : "rcx", "r11", "memory");
}
__asm__(".globl _start\n_start: and $-16, %rsp\n call start\n");
#ifdef HAS_SFRAME
__asm__(".section .input, \"a\", @progbits\n .skip 48, 7\n .previous\n");
#endif
)";

class SpaceInFile : public testing::Test {
 protected:
  std::filesystem::path link(const std::string& options, const std::string& script) {
    write_text(folder_ / "source.c", far_data);
    write_text(folder_ / "script", script);
    const Outcome linked = run("gcc -O1 -fno-pie -no-pie -static -nostdlib -fuse-ld=bfd " + options +
                               " -Wl,--build-id=none,-T," + (folder_ / "script").string() + " -o " +
                               (folder_ / "program").string() + " " + (folder_ / "source.c").string());
    EXPECT_EQ(linked.status, 0) << linked.output;
    EXPECT_EQ(run((folder_ / "program").string()).status, 0);
    return folder_ / "program";
  }

  std::filesystem::path link_bss_behind_headers() {
    return link("-DSPACE='\".bss\"'", R"(
PHDRS { h PT_PHDR PHDRS; d PT_LOAD FILEHDR PHDRS FLAGS(6); t PT_LOAD FLAGS(5); }
SECTIONS {
  . = 0x400000 + SIZEOF_HEADERS; .bss : { *(.bss) } :d .data : { *(.data) } :d
  . = ALIGN(0x1000); .text : { *(.text*) } :t .rodata : { *(.rodata*) } :t .eh_frame : { *(.eh_frame) } :t
})");
  }

  void expect_it_runs(const std::filesystem::path& program, std::size_t size) {
    inject(program, folder_ / "output", size);
    EXPECT_EQ(run((folder_ / "output").string()).status, 0) << size;
  }

  Folder folder_;
};

TEST_F(SpaceInFile, IsNoRoomForProgramHeaders) {
  const auto program = link_bss_behind_headers();
  const Image image = Image::open(program);
  const Elf64_Phdr& load = *image.find_segment(PT_LOAD);
  ASSERT_LT(image.find_section(".bss")->header.sh_addr, load.p_vaddr + load.p_filesz);
  for (const std::size_t size : {std::size_t{64}, std::size_t{0x2345}}) expect_it_runs(program, size);
}

TEST_F(SpaceInFile, IsNoRoomForALargerSection) {
  const auto program = link("-DHAS_SFRAME -DSPACE='\".zero,\\\"a\\\",@nobits#\"'", R"(
PHDRS { t PT_LOAD FILEHDR PHDRS FLAGS(5); r PT_LOAD FLAGS(4); s 0x6474e554 FLAGS(4); d PT_LOAD FLAGS(6); }
SECTIONS {
  . = 0x400000 + SIZEOF_HEADERS + 0x100; .text : { *(.text*) } :t
  . = ALIGN(0x1000); .eh_frame : { *(.eh_frame) } :r .sframe : ALIGN(8) { *(.input) } :r :s
  .zero : { *(.zero) } :r .rodata : { *(.rodata*) LONG(5) } :r
  . = ALIGN(0x1000); .data : { *(.data) } :d
})");
  ASSERT_EQ(Image::open(program).find_section(".zero")->header.sh_type, SHT_NOBITS);
  for (const std::size_t size : {std::size_t{32}, std::size_t{64}, std::size_t{0x2345}}) expect_it_runs(program, size);
}

/// What is said where .bss has in input and output the address that `wanted` picks of the output.
std::string violation_with_bss_at(const std::function<std::uint64_t(const Image&)>& wanted) {
  const Folder folder;
  inject(small_library(), folder / "output", 0x2345);
  const std::uint64_t address = wanted(Image::open(folder / "output"));
  for (const auto& [from, to] : {std::pair{small_library(), "bad-input"}, {folder / "output", "bad-output"}}) {
    const std::uint32_t bss = Image::open(from).find_section(".bss")->index;
    change(from, folder / to, [&](Fields& f) { f.sections.at(bss).sh_addr = address; });
  }
  return failure_of(
      [&] { check_layout(Image::open(folder / "bad-input"), Image::open(folder / "bad-output"), Contents::Affected); });
}

void expect_violation(const std::string& rule, const std::function<std::uint64_t(const Image&)>& wanted) {
  const std::string message = violation_with_bss_at(wanted);
  EXPECT_NE(message.find(rule), std::string::npos) << "wanted: " << rule << "\ngot: " << message;
}

TEST(SpaceInFileCheck, SeesBssUnderWhatIsNew) {
  expect_violation(".sframe and section .bss must not share addresses",
                   [](const Image& output) { return output.find_section(".sframe")->header.sh_addr + 8; });
  expect_violation("the program headers and section .bss must not share addresses", [](const Image& output) {
    return sizeof(Elf64_Ehdr) + (output.segments().size() - 1) * sizeof(Elf64_Phdr);
  });
  // It makes room for program headers.
  expect_violation("section .note.gnu.build-id and section .bss must not share addresses",
                   [](const Image& output) { return output.find_section(".note.gnu.build-id")->header.sh_addr; });
}

}  // namespace
}  // namespace sframe_gen::elf::test
