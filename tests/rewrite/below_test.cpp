// Programs at fixed addresses whose headers have no room: new pages below their own.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <iterator>

#include "elf/notes.hpp"
#include "elf/records.hpp"
#include "toolbox.hpp"

namespace sframe_gen::elf::test {
namespace {

/// Without a C library, so that its code stands right behind the headers. Exits with 0 if the ELF header that the
/// linker left in memory leads to the program headers that the kernel names, and their count is the same.
constexpr const char* headers_in_memory = R"(
#include <elf.h>
extern const Elf64_Ehdr __ehdr_start __attribute__((visibility("hidden")));
__attribute__((used)) static void start(unsigned long* stack) {
  unsigned long* word = stack + 1 + stack[0] + 1;
  unsigned long at = 0, count = 0, status = 1;
  while (*word != 0) ++word;
  for (++word; *word != 0; word += 2) {
    if (word[0] == 3) at = word[1];
    if (word[0] == 5) count = word[1];
  }
  const Elf64_Ehdr* volatile header = &__ehdr_start;
  if ((unsigned long)header + header->e_phoff == at && header->e_phnum == count) status = 0;
  __asm__ volatile("syscall" : : "a"(60), "D"(status) : "rcx", "r11", "memory");
}
__asm__(".globl _start\n_start: mov %rsp, %rdi\n and $-16, %rsp\n call start\n");
)";

constexpr std::size_t section_size = 0x2345;

class PagesBelow : public testing::Test {
 protected:
  std::filesystem::path link(const std::string& options = {}) {
    write_text(folder_ / "source.c", headers_in_memory);
    const Outcome linked =
        run("gcc -O1 -g -fno-pie -no-pie -static -nostdlib -nostartfiles -fuse-ld=bfd "
            "-Wl,-z,noseparate-code,--build-id=none " +
            options + " -o " + (folder_ / "program").string() + " " + (folder_ / "source.c").string());
    EXPECT_EQ(linked.status, 0) << linked.output;
    EXPECT_EQ(run((folder_ / "program").string()).status, 0);
    return folder_ / "program";
  }

  Layout inject_into(const std::filesystem::path& program, std::size_t size = section_size) {
    return inject(program, folder_ / "output", size);
  }

  Folder folder_;
};

TEST_F(PagesBelow, HoldHeadersAndSection) {
  const auto program = link();
  const Layout layout = inject_into(program);
  EXPECT_EQ(name_of(layout.section_plan), "S3");
  EXPECT_EQ(name_of(layout.table_plan), "T3");
  const Image before = Image::open(program);
  const Image after = Image::open(folder_ / "output");
  const Elf64_Phdr& first = *after.find_segment(PT_LOAD);
  EXPECT_EQ(first.p_offset, 0U);
  EXPECT_EQ(first.p_flags, static_cast<std::uint32_t>(PF_R));
  EXPECT_LT(first.p_vaddr + first.p_memsz, before.find_segment(PT_LOAD)->p_vaddr);
  EXPECT_LT(layout.section_address, before.find_segment(PT_LOAD)->p_vaddr);
  EXPECT_EQ(after.header().e_phoff, sizeof(Elf64_Ehdr));
  EXPECT_EQ(after.find_section(".text")->header.sh_addr, before.find_section(".text")->header.sh_addr);
}

TEST_F(PagesBelow, HeaderInMemoryLeadsToTheTableAfterEachTool) {
  inject_into(link());
  for (const char* tool : {"true", "strip", "strip -g", "objcopy", "eu-strip", "llvm-strip", "llvm-objcopy"}) {
    const auto copy = folder_ / "copy";
    std::filesystem::copy_file(folder_ / "output", copy, std::filesystem::copy_options::overwrite_existing);
    EXPECT_EQ(run(tool + (" " + copy.string())).output, "") << tool;
    EXPECT_EQ(run(copy.string()).status, 0) << tool;
  }
}

std::filesystem::path aarch64_file(const Folder& folder, const std::string& options) {
  write_text(folder / "source.c", "void _start(void) { for (;;) __asm__ volatile(\"nop\"); }\n");
  const Outcome linked = run("aarch64-linux-gnu-gcc -O1 -nostdlib -nostartfiles -fasynchronous-unwind-tables " +
                             options + " -o " + (folder / "linked").string() + " " + (folder / "source.c").string());
  EXPECT_EQ(linked.status, 0) << linked.output;
  return folder / "linked";
}

// Linked for pages of 4 KiB, it can start on a kernel with pages of 64 KiB as well: its one segment shares none.
TEST_F(PagesBelow, SuitEachKernelThatTheProgramSuits) {
  const Layout layout = inject_into(aarch64_file(folder_,
                                                 "-fno-pie -no-pie -static "
                                                 "-Wl,-z,noseparate-code,-z,max-page-size=4096,--build-id=none"));
  ASSERT_EQ(name_of(layout.table_plan), "T3");
  const Elf64_Phdr first = *Image::open(folder_ / "output").find_segment(PT_LOAD);
  EXPECT_EQ((first.p_vaddr - first.p_offset) % 0x10000, 0U);
}

TEST(NewSegment, AgreesModuloThePagesOfEachKernel) {
  constexpr std::size_t fits_below_alone = 0x20000;
  const Folder folder;
  const auto library = aarch64_file(folder, "-fPIC -shared -Wl,--build-id");
  ASSERT_EQ(name_of(inject(library, folder / "output", fits_below_alone).section_plan), "S2");
  change(folder / "output", folder / "bad", [](Fields& f) {
    const auto last = std::find_if(f.segments.rbegin(), f.segments.rend(),
                                   [](const Elf64_Phdr& segment) { return segment.p_type == PT_LOAD; });
    last->p_vaddr += 0x1000;
    last->p_align = 0x1000;
  });
  EXPECT_NE(failure_of([&] {
              check_layout(Image::open(library), Image::open(folder / "bad"), Contents::All);
            }).find("must agree with its file offset modulo a kernel's page"),
            std::string::npos);
}

// As programs of Google's are linked: at 2 MiB, for pages of 2 MiB, so that no whole one is free below.
TEST_F(PagesBelow, AreSmallerThanThoseOfTheProgramWhereTheseDoNotFit) {
  const auto program = link("-Wl,-z,max-page-size=0x200000,-Ttext-segment=0x200000");
  ASSERT_EQ(Image::open(program).find_segment(PT_LOAD)->p_vaddr, 0x200000U);
  inject_into(program);
  const Image after = Image::open(folder_ / "output");
  EXPECT_EQ(after.find_segment(PT_LOAD)->p_vaddr, 0x1fd000U);
  for (const char* tool : {"true", "strip", "objcopy", "eu-strip", "llvm-strip", "llvm-objcopy"}) {
    const auto copy = folder_ / "copy";
    std::filesystem::copy_file(folder_ / "output", copy, std::filesystem::copy_options::overwrite_existing);
    EXPECT_EQ(run(tool + (" " + copy.string())).output, "") << tool;
    EXPECT_EQ(run(copy.string()).status, 0) << tool;
  }
}

// Its one PT_LOAD begins behind the headers, which are in memory all the same, in the same page.
TEST_F(PagesBelow, HeaderThatNoSegmentHoldsStaysInMemoryAfterEachTool) {
  write_text(folder_ / "source.c", headers_in_memory);
  const Outcome linked = run("gcc -O1 -fno-pie -no-pie -static -nostdlib -nostartfiles -fuse-ld=lld -Wl,--omagic -o " +
                             (folder_ / "program").string() + " " + (folder_ / "source.c").string());
  ASSERT_EQ(linked.status, 0) << linked.output;
  ASSERT_NE(Image::open(folder_ / "program").find_segment(PT_LOAD)->p_offset, 0U);
  const Layout layout = inject_into(folder_ / "program");
  EXPECT_EQ(name_of(layout.table_plan), "T3");
  for (const char* tool : {"true", "strip", "strip -g", "objcopy", "eu-strip", "llvm-strip", "llvm-objcopy"}) {
    const auto copy = folder_ / "copy";
    std::filesystem::copy_file(folder_ / "output", copy, std::filesystem::copy_options::overwrite_existing);
    EXPECT_EQ(run(tool + (" " + copy.string())).output, "") << tool;
    EXPECT_EQ(run(copy.string()).status, 0) << tool;
  }
  std::vector<Elf64_Phdr> loads;
  const Image after = Image::open(folder_ / "output");
  std::ranges::copy_if(after.segments(), std::back_inserter(loads),
                       [](const Elf64_Phdr& segment) { return segment.p_type == PT_LOAD; });
  ASSERT_EQ(loads.size(), 2U);
  EXPECT_EQ(loads[1].p_vaddr, after.find_section(old_headers_name)->header.sh_addr);
}

TEST_F(PagesBelow, BuildIdStaysInTheFirstPage) {
  const auto program = link("-Wl,--build-id");
  const Layout layout = inject_into(program);
  EXPECT_EQ(name_of(layout.table_plan), "T3");
  EXPECT_FALSE(layout.build_id_left_first_page);
  const Image after = Image::open(folder_ / "output");
  const Section& note = *after.find_section(".note.gnu.build-id");
  EXPECT_LT(note.header.sh_offset, 0x1000U);
  const Image before = Image::open(program);
  const auto old = build_id(before);
  const auto now = build_id(after);
  EXPECT_TRUE(std::equal(old.begin(), old.end(), now.begin(), now.end()));
  EXPECT_EQ(run((folder_ / "output").string()).status, 0);
}

// vm.mmap_min_addr: the kernel would not start it.
TEST_F(PagesBelow, NeverBeginBelowTheLowestAddress) {
  const auto at = [&](const std::string& begin) { return link("-Wl,-Ttext-segment=" + begin); };
  EXPECT_EQ(name_of(inject_into(at("0x13000")).section_plan), "S3");
  EXPECT_EQ(Image::open(folder_ / "output").find_segment(PT_LOAD)->p_vaddr, 0x10000U);
  EXPECT_EQ(run((folder_ / "output").string()).status, 0);
  // Room for the headers, but not for the section.
  EXPECT_EQ(name_of(inject_into(at("0x11000")).section_plan), "S2");
  EXPECT_EQ(run((folder_ / "output").string()).status, 0);
  const std::string failure = failure_of([&] { inject_into(at("0x10000")); });
  EXPECT_NE(failure.find("nor can pages be put below it, as there are no 4096 bytes of addresses between 0x10000"),
            std::string::npos)
      << failure;
}

TEST_F(PagesBelow, AreNotPutBelowSharedObjects) {
  std::vector<TriedPlan> tried;
  plan_layout(Image::open(small_library()), section_size, sframe_section, HeaderMoves::Never, &tried);
  EXPECT_FALSE(tried.empty());
  for (const TriedPlan& plan : tried) EXPECT_NE(name_of(plan.table_plan), "T3");
}

TEST_F(PagesBelow, ASecondRunChangesNothingAndALargerSectionStillFits) {
  inject_into(link());
  inject(folder_ / "output", folder_ / "again", section_size);
  EXPECT_TRUE(read_text(folder_ / "output") == read_text(folder_ / "again"));
  inject(folder_ / "output", folder_ / "larger", 0x8765);
  EXPECT_EQ(run((folder_ / "larger").string()).status, 0);
}

TEST_F(PagesBelow, CheckSeesALostHeaderAndALowAddress) {
  const auto program = link();
  inject_into(program);
  const auto violation = [&](const std::function<void(Fields&)>& edit) {
    change(folder_ / "output", folder_ / "bad", edit);
    return failure_of([&] { check_layout(Image::open(program), Image::open(folder_ / "bad"), Contents::All); });
  };
  const std::size_t old_header = Image::open(folder_ / "output").find_section(old_headers_name)->header.sh_offset;
  EXPECT_NE(violation([&](Fields& f) {
              f.bytes[old_header + offsetof(Elf64_Ehdr, e_phoff)] ^= 1;
            }).find("must lead to the program headers"),
            std::string::npos);
  EXPECT_NE(violation([&](Fields& f) {
              f.bytes[old_header + offsetof(Elf64_Ehdr, e_phnum)] ^= 1;
            }).find("must lead to the program headers"),
            std::string::npos);
  EXPECT_NE(violation([](Fields& f) { f.segment(PT_LOAD).p_flags |= PF_X; }).find("pages below the program's must be"),
            std::string::npos);
}

}  // namespace
}  // namespace sframe_gen::elf::test
