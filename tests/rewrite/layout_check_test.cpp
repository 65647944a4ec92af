// The check must see each rule broken: outputs are damaged one field at a time.

#include "rewrite/check/layout_check.hpp"

#include <gtest/gtest.h>

#include "toolbox.hpp"

namespace sframe_gen::elf::test {
namespace {

class LayoutCheck : public testing::Test {
 protected:
  void SetUp() override { inject(small_library(), folder_ / "good", 0x2345); }

  std::uint32_t index_of(const std::string& section) const {
    return Image::open(folder_ / "good").find_section(section)->index;
  }

  void expect_violation(const std::string& rule, const std::function<void(Fields&)>& edit) {
    change(folder_ / "good", folder_ / "bad", edit);
    const std::string message = failure_of([&] {
      rewrite::check_layout(Image::open(small_library()), Image::open(folder_ / "bad"), rewrite::Contents::All);
    });
    EXPECT_NE(message.find(rule), std::string::npos) << "wanted: " << rule << "\ngot: " << message;
  }

  static Elf64_Phdr& last_load(Fields& f) {
    Elf64_Phdr* last = nullptr;
    for (Elf64_Phdr& s : f.segments)
      if (s.p_type == PT_LOAD) last = &s;
    return *last;
  }

  Folder folder_;
};

TEST_F(LayoutCheck, AcceptsTheGoodOne) {
  EXPECT_NO_THROW(check_layout(Image::open(small_library()), Image::open(folder_ / "good"), Contents::All));
}

TEST_F(LayoutCheck, SaysThatItIsNotSafe) {
  expect_violation("cannot be rewritten safely, as the result would break a rule: ",
                   [](Fields& f) { f.segment(segment_type_gnu_sframe).p_type = PT_NULL; });
}

TEST_F(LayoutCheck, SeesBrokenSegments) {
  expect_violation("must lie in the file", [](Fields& f) {
    last_load(f).p_filesz += 0x100000;
    last_load(f).p_memsz += 0x100000;
  });
  expect_violation("agree modulo its alignment", [](Fields& f) { last_load(f).p_vaddr += 8; });
  expect_violation("must follow the one before it", [](Fields& f) { last_load(f).p_vaddr -= 0x1000; });
  expect_violation("must not have more bytes in the file", [](Fields& f) { last_load(f).p_memsz -= 1; });
  expect_violation("must share no page", [](Fields& f) { f.segments[0].p_align = 0x1000000; });
  expect_violation("PT_DYNAMIC must keep its address", [](Fields& f) { f.segment(PT_DYNAMIC).p_vaddr += 16; });
  expect_violation("every program header of the input must be kept",
                   [](Fields& f) { f.segment(PT_NOTE).p_type = PT_NULL; });
  expect_violation("PT_NOTE must be loaded", [](Fields& f) { f.segment(PT_NOTE).p_offset += 4; });
}

TEST_F(LayoutCheck, SeesBrokenSframe) {
  expect_violation("there must be one PT_GNU_SFRAME",
                   [](Fields& f) { f.segment(PT_GNU_STACK).p_type = segment_type_gnu_sframe; });
  expect_violation("PT_GNU_SFRAME must be .sframe", [](Fields& f) { f.segment(segment_type_gnu_sframe).p_memsz += 8; });
  expect_violation(".sframe must be allocated",
                   [&](Fields& f) { f.sections[index_of(".sframe")].sh_flags |= SHF_WRITE; });
  expect_violation(".sframe must lie in one read-only PT_LOAD", [](Fields& f) { last_load(f).p_flags |= PF_W; });
  expect_violation(".sframe must not lie in PT_GNU_RELRO",
                   [](Fields& f) { f.segment(PT_GNU_RELRO).p_vaddr = f.segment(segment_type_gnu_sframe).p_vaddr; });
}

TEST_F(LayoutCheck, SeesBrokenSections) {
  expect_violation("section .text must keep its address",
                   [&](Fields& f) { f.sections[index_of(".text")].sh_addr += 16; });
  expect_violation("section .eh_frame must keep its header",
                   [&](Fields& f) { f.sections[index_of(".eh_frame")].sh_size += 8; });
  expect_violation("section .dynsym must keep its link",
                   [&](Fields& f) { f.sections[index_of(".dynsym")].sh_link = 0; });
  expect_violation("section .data must keep its bytes",
                   [&](Fields& f) { f.bytes[f.sections[index_of(".data")].sh_offset] ^= 1; });
  expect_violation("must be loaded at its address", [&](Fields& f) { f.sections[index_of(".text")].sh_offset += 16; });
  expect_violation("section .data must be kept",
                   [&](Fields& f) { f.sections[index_of(".data")].sh_name = f.sections[index_of(".text")].sh_name; });
  expect_violation("section headers must be sorted", [&](Fields& f) {
    std::swap(f.sections[index_of(".note.gnu.build-id")], f.sections[index_of(".eh_frame")]);
  });
}

TEST_F(LayoutCheck, SeesBrokenSymbolsAndPointers) {
  const Elf64_Shdr symbols = Image::open(folder_ / "good").find_section(".symtab")->header;
  const std::size_t last = symbols.sh_offset + symbols.sh_size - sizeof(Elf64_Sym);
  expect_violation("must keep their section", [&](Fields& f) { f.bytes[last + offsetof(Elf64_Sym, st_shndx)] ^= 1; });
  expect_violation("must move with their section",
                   [&](Fields& f) { f.bytes[last + offsetof(Elf64_Sym, st_value)] ^= 1; });
  expect_violation("must keep their name", [&](Fields& f) { f.bytes[last + offsetof(Elf64_Sym, st_size)] ^= 1; });
  // Moved by the plan for this library, so .dynamic has to know.
  expect_violation("PT_DYNAMIC must", [&](Fields& f) {
    const Elf64_Phdr& dynamic = f.segment(PT_DYNAMIC);
    for (std::uint64_t at = dynamic.p_offset; at < dynamic.p_offset + dynamic.p_filesz; at += 16) {
      const auto entry = std::as_writable_bytes(std::span(f.bytes)).subspan(at, 16);
      if (load<std::uint64_t>(entry, Endian::Little) == DT_GNU_HASH)
        store<std::uint64_t>(entry.subspan(8), 0x123, Endian::Little);
    }
  });
}

/// As patchelf before 0.16 leaves a program: its PT_GNU_PROPERTY leads `after_table` bytes past the program headers.
class StaleProperty : public LayoutCheck {
 protected:
  void SetUp() override {
    write_text(folder_ / "a.c", "int main(void) { return 0; }\n");
    const Outcome linked = run("gcc -pie -fPIE -Wl,--build-id,-z,shstk,-z,separate-code -o " +
                               (folder_ / "linked").string() + ' ' + (folder_ / "a.c").string());
    ASSERT_EQ(linked.status, 0) << linked.output;
  }

  std::filesystem::path program(std::int64_t after_table) {
    const auto path = folder_ / "program";
    change(folder_ / "linked", path, [&](Fields& f) {
      Elf64_Phdr& property = f.segment(PT_GNU_PROPERTY);
      const std::uint64_t table_end = f.header.e_phoff + f.segments.size() * sizeof(Elf64_Phdr);
      property.p_offset = table_end + static_cast<std::uint64_t>(after_table);
      property.p_vaddr = property.p_paddr = property.p_offset;
      property.p_filesz = property.p_memsz = 32;
    });
    return path;
  }

  void expect_same_stale(const std::filesystem::path& input) {
    const rewrite::Layout layout = inject(input, folder_ / "output", 0x2345);
    EXPECT_EQ(run((folder_ / "output").string()).status, 0);
    const Elf64_Phdr before = *Image::open(input).find_segment(PT_GNU_PROPERTY);
    const auto same = std::ranges::find(layout.segments, std::uint32_t{PT_GNU_PROPERTY}, &Elf64_Phdr::p_type);
    ASSERT_TRUE(same != layout.segments.end());
    EXPECT_EQ(same->p_vaddr, before.p_vaddr);
  }
};

TEST_F(StaleProperty, StaysAndIsNoObstacle) {
  for (const std::int64_t after_table : {-64, -16, 0, 4}) expect_same_stale(program(after_table));
}

TEST_F(StaleProperty, IsNoObstacleWithoutSectionHeaders) {
  for (const std::int64_t after_table : {-64, -16, 0}) {
    const auto input = program(after_table);
    change(input, input, drop_section_headers);
    expect_same_stale(input);
  }
}

TEST_F(StaleProperty, MustNotBeginToLeadToANote) {
  const auto input = program(-64);
  inject(input, folder_ / "output", 0x2345);
  const auto violation = [&](const std::function<void(Elf64_Phdr&)>& edit) {
    change(folder_ / "output", folder_ / "bad", [&](Fields& f) { edit(f.segment(PT_GNU_PROPERTY)); });
    return failure_of(
        [&] { rewrite::check_layout(Image::open(input), Image::open(folder_ / "bad"), rewrite::Contents::All); });
  };
  EXPECT_EQ(violation([](Elf64_Phdr&) {}), "");
  const std::uint64_t note = Image::open(folder_ / "output").find_section(".note.gnu.property")->header.sh_offset;
  EXPECT_NE(violation([&](Elf64_Phdr& property) {
              property.p_offset = note;
            }).find("PT_GNU_PROPERTY must not begin to lead to a note"),
            std::string::npos);
  EXPECT_NE(
      violation([](Elf64_Phdr& property) { property.p_vaddr += 16; }).find("PT_GNU_PROPERTY must keep its address"),
      std::string::npos);
}

TEST_F(LayoutCheck, ViolationsLeaveTheTargetAlone) {
  write_text(folder_ / "target", "as it was");
  const Image image = Image::open(small_library());
  rewrite::Layout layout = rewrite::plan_layout(image, 64);
  layout.segments.pop_back();
  layout.header.e_phnum -= 1;
  EXPECT_THROW(rewrite::rewrite(image, layout, in_chunks(payload(64)), folder_ / "target"), LayoutViolation);
  EXPECT_EQ(read_text(folder_ / "target"), "as it was");
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder_.path()), {}), 2);
}

// Debian's node: the read-only PT_LOAD that takes the section begins in the 8 KiB that .text is aligned to, as it did.
TEST_F(LayoutCheck, TakesASegmentThatBeginsWhereItDidInALargeAlignment) {
  const auto input = folder_ / "input";
  write_text(folder_ / "a.c", "__attribute__((aligned(0x2000))) int f(int i) { return i; }\n");
  ASSERT_EQ(
      run("gcc -shared -fPIC -nostdlib -Wl,-z,separate-code -o " + input.string() + " " + (folder_ / "a.c").string())
          .status,
      0);
  const rewrite::Layout layout = inject(input, folder_ / "good", 0x45);
  EXPECT_EQ(layout.section_plan, SectionPlan::Gap);
  EXPECT_NO_THROW(check_layout(Image::open(input), Image::open(folder_ / "good"), Contents::All));
}

// Nothing on this machine would notice: qemu's pages have 4 KiB.
TEST_F(LayoutCheck, SeesSegmentsThatShareAPageOf64KOnAArch64) {
  const auto input = folder_ / "input";
  write_text(folder_ / "a.c", "int data = 3; int f(int i) { return data += i; }\n");
  ASSERT_EQ(run("aarch64-linux-gnu-gcc -shared -fPIC -nostdlib -o " + input.string() + " " + (folder_ / "a.c").string())
                .status,
            0);
  const rewrite::Layout layout = inject(input, folder_ / "good", 0x23456);
  ASSERT_EQ(layout.section_plan, SectionPlan::Tail);
  change(folder_ / "good", folder_ / "bad", [](Fields& f) {
    Elf64_Phdr& tail = last_load(f);
    std::uint64_t end = 0;
    for (const Elf64_Phdr& s : f.segments)
      if (s.p_type == PT_LOAD && s.p_vaddr < tail.p_vaddr) end = s.p_vaddr + s.p_memsz;
    tail.p_vaddr = align_up(end, 0x1000) + tail.p_offset % 0x1000;
    tail.p_align = 0x1000;
  });
  const std::string message = failure_of(
      [&] { rewrite::check_layout(Image::open(input), Image::open(folder_ / "bad"), rewrite::Contents::All); });
  EXPECT_NE(message.find("must share no page with the one before it"), std::string::npos) << message;
}

}  // namespace
}  // namespace sframe_gen::elf::test
