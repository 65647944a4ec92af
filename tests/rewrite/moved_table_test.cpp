// Program headers that another tool has moved away from the ELF header: they stay where they are.

#include <gtest/gtest.h>

#include "toolbox.hpp"

namespace sframe_gen::elf::test {
namespace {

/// With the table behind everything else in the first PT_LOAD, where `room` bytes are loaded behind it.
std::filesystem::path program_with_moved_table(const Folder& folder, std::uint64_t room) {
  write_text(folder / "a.c", "int main(void) { return 0; }\n");
  EXPECT_EQ(run("gcc -O1 -pie -fuse-ld=bfd -Wl,-z,separate-code -o " + (folder / "a").string() + " " +
                (folder / "a.c").string())
                .status,
            0);
  change(folder / "a", folder / "moved", [&](Fields& f) {
    Elf64_Phdr& first = f.segment(PT_LOAD);
    const std::uint64_t begin = align_up(first.p_filesz, 8);
    const std::uint64_t size = f.segments.size() * sizeof(Elf64_Phdr);
    first.p_filesz = first.p_memsz = begin + size + room;
    Elf64_Phdr& table = f.segment(PT_PHDR);
    table.p_offset = table.p_vaddr = table.p_paddr = begin;
    std::fill_n(f.bytes.begin() + sizeof(Elf64_Ehdr), size, '\0');
    for (std::size_t i = 0; i < f.segments.size(); ++i) {
      store_segment(std::as_writable_bytes(std::span(f.bytes)).subspan(begin + i * sizeof(Elf64_Phdr)), f.segments[i],
                    Endian::Little);
    }
    f.header.e_phoff = begin;
    f.segments.clear();
  });
  EXPECT_EQ(run((folder / "moved").string()).status, 0);
  return folder / "moved";
}

TEST(MovedTable, GrowsInItsPlace) {
  for (const std::uint64_t room : {std::uint64_t{0}, std::uint64_t{120}}) {
    for (const std::size_t size : {std::size_t{64}, std::size_t{0x2345}}) {
      const Folder folder;
      const auto program = program_with_moved_table(folder, room);
      const Layout layout = inject(program, folder / "output", size);
      EXPECT_EQ(name_of(layout.table_plan), "T0");
      EXPECT_EQ(Image::open(folder / "output").header().e_phoff, Image::open(program).header().e_phoff);
      EXPECT_EQ(run((folder / "output").string()).status, 0);
    }
  }
}

TEST(MovedTable, IsNotMovedAgainByALaterRun) {
  const Folder folder;
  inject(program_with_moved_table(folder, 120), folder / "output", 0x2345);
  inject(folder / "output", folder / "again", 0x2345);
  EXPECT_TRUE(read_text(folder / "output") == read_text(folder / "again"));
}

TEST(MovedTable, CheckSeesItMove) {
  const Folder folder;
  const auto program = program_with_moved_table(folder, 120);
  inject(program, folder / "output", 64);
  change(folder / "output", folder / "bad", [](Fields& f) { f.segment(PT_PHDR).p_offset += 8; });
  EXPECT_NE(failure_of([&] {
              check_layout(Image::open(program), Image::open(folder / "bad"), Contents::All);
            }).find("PT_PHDR must be the program headers"),
            std::string::npos);
}

TEST(MovedTable, CheckWantsItWhereOldKernelsLook) {
  const Folder folder;
  const Image input = Image::open(small_library());
  inject(small_library(), folder / "output", 64);
  const Image output = Image::open(folder / "output");
  // The same table once more, at the end of the last PT_LOAD, which is writable and the input's.
  change(folder / "output", folder / "bad", [&](Fields& f) {
    f.header.e_phoff = align_up(f.segments.back().p_offset, 8);
    f.segments.clear();
  });
  EXPECT_NE(failure_of([&] {
              check_layout(input, Image::open(folder / "bad"), Contents::All);
            }).find("program headers may move into a new read-only PT_LOAD only"),
            std::string::npos);
}

}  // namespace
}  // namespace sframe_gen::elf::test
