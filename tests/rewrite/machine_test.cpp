#include "elf/machine.hpp"

#include <gtest/gtest.h>

#include "toolbox.hpp"

namespace sframe_gen::elf::test {
namespace {

/// A linked file of a machine that this one need not be.
std::filesystem::path link_for(const Folder& folder, const std::string& compiler, const std::string& options) {
  write_text(folder / "a.c", "int data[2000] = {1}; int f(int i) { return data[i]++; }\n");
  auto output = folder / "lib.so";
  const Outcome linked = run(compiler + " -shared -fPIC -nostdlib " + options + " -o " + output.string() + " " +
                             (folder / "a.c").string());
  EXPECT_EQ(linked.status, 0) << linked.output;
  return output;
}

void expect_machine(const std::string& compiler, const std::string& options, sframe::Abi abi, Endian endian) {
  const Folder folder;
  const Image image = Image::open(link_for(folder, compiler, options));
  ASSERT_NE(find_machine(image), nullptr);
  EXPECT_EQ(find_machine(image)->abi, abi);
  EXPECT_EQ(image.endian(), endian);
  EXPECT_EQ(&machine_of(image), find_machine(image));
}

TEST(Machine, IsFoundForEachAbi) {
  expect_machine("gcc", "", sframe::Abi::Amd64, Endian::Little);
  expect_machine("aarch64-linux-gnu-gcc", "", sframe::Abi::Aarch64Little, Endian::Little);
  expect_machine("aarch64-linux-gnu-gcc", "-mbig-endian", sframe::Abi::Aarch64Big, Endian::Big);
  expect_machine("s390x-linux-gnu-gcc", "", sframe::Abi::S390x, Endian::Big);
}

TEST(Machine, NeedsTheRightByteOrder) {
  const Folder folder;
  change(small_library(), folder / "s390", [](Fields& f) { f.header.e_machine = EM_S390; });
  EXPECT_EQ(find_machine(Image::open(folder / "s390")), nullptr);
  const auto big = link_for(folder, "s390x-linux-gnu-gcc", "");
  change(big, folder / "x86", [](Fields& f) { f.header.e_machine = EM_X86_64; });
  EXPECT_NE(failure_of([&] {
              machine_of(Image::open(folder / "x86"));
            }).find("architecture is EM_X86_64 (62) in big-endian byte order, but SFrame has no ABI for it"),
            std::string::npos);
}

TEST(Machine, OthersAreRefusedByNameInBothClasses) {
  const Folder folder;
  write_text(folder / "a.s", ".globl f\nf:\n");
  const auto refusal = [&](const std::string& options) {
    const std::string object = (folder / "a.o").string();
    EXPECT_EQ(run("as " + options + " -o " + object + " " + (folder / "a.s").string()).status, 0);
    return failure_of([&] { Image::open(object); });
  };
  EXPECT_NE(refusal("--x32").find("32-bit ELF file for EM_X86_64 (62), and SFrame has no 32-bit ABI"),
            std::string::npos);
  EXPECT_NE(refusal("--32").find("32-bit ELF file for EM_386 (3)"), std::string::npos);
  EXPECT_EQ(
      run("aarch64-linux-gnu-as -mabi=ilp32 -o " + (folder / "b.o").string() + " " + (folder / "a.s").string()).status,
      0);
  EXPECT_NE(failure_of([&] { Image::open(folder / "b.o"); }).find("32-bit ELF file for EM_AARCH64 (183)"),
            std::string::npos);
}

TEST(Machine, PagesAreTheMachinesOrTheFilesLargerOnes) {
  const Folder folder;
  EXPECT_EQ(layout_page(Image::open(link_for(folder, "gcc", ""))), 0x1000U);
  EXPECT_EQ(layout_page(Image::open(link_for(folder, "gcc", "-Wl,-z,max-page-size=0x4000"))), 0x4000U);
  EXPECT_EQ(layout_page(Image::open(link_for(folder, "s390x-linux-gnu-gcc", ""))), 0x1000U);
  const std::string arm = "aarch64-linux-gnu-gcc";
  EXPECT_EQ(layout_page(Image::open(link_for(folder, arm, ""))), 0x10000U);
  EXPECT_EQ(layout_page(Image::open(link_for(folder, arm, "-Wl,-z,max-page-size=0x200000"))), 0x200000U);
}

TEST(Machine, FilesForSmallPagesKeepThem) {
  const Folder folder;
  const auto file = link_for(folder, "aarch64-linux-gnu-gcc", "-Wl,-z,max-page-size=0x1000");
  EXPECT_EQ(layout_page(Image::open(file)), 0x1000U) << "two PT_LOADs share 64 KiB";
  // Nothing but one PT_LOAD: no page is shared.
  change(file, folder / "apart", [](Fields& f) {
    bool seen = false;
    for (Elf64_Phdr& segment : f.segments) {
      if (segment.p_type == PT_LOAD && seen) segment.p_type = PT_NULL;
      seen = seen || segment.p_type == PT_LOAD;
    }
  });
  EXPECT_EQ(layout_page(Image::open(folder / "apart")), 0x10000U);
  EXPECT_EQ(load_alignment(Image::open(folder / "apart")), 0x1000U);
}

}  // namespace
}  // namespace sframe_gen::elf::test
