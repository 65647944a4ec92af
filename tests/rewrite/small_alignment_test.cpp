// ld -n and -N: PT_LOADs that are aligned to less than a page.

#include <gtest/gtest.h>

#include "toolbox.hpp"

namespace sframe_gen::elf::test {
namespace {

/// Exits with 0 if its data and .bss are as they should be.
constexpr const char* aligned_code = R"(
int data = 5;
static char space[70000];
__attribute__((used)) static void start(void) {
  long status = data != 5;
  for (int i = 0; i < 70000; ++i) status |= ((volatile char*)space)[i] != 0;
  ((volatile char*)space)[5000] = 1;
  __asm__ volatile("syscall" : : "a"(60), "D"(status) : "rcx", "r11", "memory");
}
__asm__(".globl _start\n_start: and $-16, %rsp\n call start\n hlt\n");
)";

class SmallAlignment : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    write_text(folder_ / "source.c", aligned_code);
    const std::string program = (folder_ / "program").string();
    const Outcome linked =
        run("gcc -O1 -fno-pie -fno-stack-protector -c -o " + program + ".o " + (folder_ / "source.c").string() +
            " && " + GetParam() + " --build-id=none -o " + program + " " + program + ".o");
    ASSERT_EQ(linked.status, 0) << linked.output;
    ASSERT_EQ(run(program).status, 0);
    const Image image = Image::open(program);
    ASSERT_TRUE(std::any_of(image.segments().begin(), image.segments().end(),
                            [](const Elf64_Phdr& s) { return s.p_type == PT_LOAD && s.p_align < 0x1000; }));
  }

  Folder folder_;
};

TEST_P(SmallAlignment, SurvivesEachTool) {
  for (const std::size_t size : {std::size_t{64}, std::size_t{0x2345}}) {
    inject(folder_ / "program", folder_ / "output", size);
    for (const char* tool : {"true", "strip", "strip -g", "objcopy", "eu-strip", "llvm-strip", "llvm-objcopy"}) {
      const auto copy = folder_ / "copy";
      std::filesystem::copy_file(folder_ / "output", copy, std::filesystem::copy_options::overwrite_existing);
      EXPECT_EQ(run(tool + (" " + copy.string())).status, 0) << tool;
      EXPECT_EQ(run(copy.string()).status, 0) << tool << " " << size;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Linkers, SmallAlignment, testing::Values("ld.bfd -N", "ld.bfd -n", "ld.gold -N"));

}  // namespace
}  // namespace sframe_gen::elf::test
