#include "elf/object/object_writer.hpp"

#include <gtest/gtest.h>

#include "elf/object/object_check.hpp"
#include "elf/object/symbol_table.hpp"
#include "elf/object/toolbox.hpp"
#include "rewrite/check/layout_check.hpp"

namespace sframe_gen::elf::object::test {
namespace {

/// A section that no reader looks into.
NewObjectSection section_for(const Image& image, std::size_t size) {
  return {
      ".sframe",     elf::section_type_gnu_sframe, 8, elf::test::payload(size), image.find_section(".symtab")->index,
      R_X86_64_PC64, {{8, 1, 0}, {24, 1, 2}}};
}

/// Checked as each output is, and by a linker that joins it with nothing.
Bytes with(const Bytes& bytes, std::size_t size) {
  const Image image = open(bytes);
  const files::Regions form = with_section(image, section_for(image, size));
  Bytes output = form.bytes(0, form.size(), image.file_bytes());
  check_object(image, open(output));
  return output;
}

TEST(ObjectWriter, AddsSectionAndRelocationsAtTheEnd) {
  const Bytes bytes = assemble(two_functions);
  const Bytes output = with(bytes, 100);
  const Image before = open(bytes), after = open(output);
  ASSERT_EQ(after.sections().size(), before.sections().size() + 2);
  const Section& section = after.sections()[before.sections().size()];
  const Section& relocations = after.sections()[before.sections().size() + 1];
  EXPECT_EQ(section.name, ".sframe");
  EXPECT_EQ(section.header.sh_type, elf::section_type_gnu_sframe);
  EXPECT_EQ(section.header.sh_flags, SHF_ALLOC);
  EXPECT_EQ(section.header.sh_size, 100U);
  EXPECT_EQ(relocations.name, ".rela.sframe");
  EXPECT_EQ(relocations.header.sh_flags, SHF_INFO_LINK);
  EXPECT_EQ(relocations.header.sh_info, section.index);
  EXPECT_EQ(relocations.header.sh_size, 2 * sizeof(Elf64_Rela));
  const auto kept = before.bytes_of(*before.find_section(".text.first"));
  const auto now = after.bytes_of(*after.find_section(".text.first"));
  EXPECT_TRUE(std::equal(kept.begin(), kept.end(), now.begin(), now.end()));
}

TEST(ObjectWriter, NamesGrowByOneEntryOfWhichTheOtherIsTheEnd) {
  const Bytes bytes = assemble(two_functions);
  const Bytes output = with(bytes, 100);
  const Image before = open(bytes), after = open(output);
  const auto size = [](const Image& image) {
    return image.sections()[image.section_name_table_index()].header.sh_size;
  };
  EXPECT_EQ(size(after), size(before) + std::strlen(".rela.sframe") + 1);
}

TEST(ObjectWriter, SecondTimeGivesTheSameBytes) {
  const Bytes output = with(assemble(two_functions), 100);
  EXPECT_EQ(with(output, 100), output);
}

TEST(ObjectWriter, LargeContentsStayInTheFile) {
  const Bytes bytes =
      assemble(two_functions + ".data\n.fill 3000000, 1, 0x5a\n.section .late,\"a\"\n.fill 2000001, 1, 7\n");
  const Image image = open(bytes);
  const files::Regions form = with_section(image, section_for(image, 100));
  std::size_t held = 0;
  for (const files::Region& region : form.all())
    if (region.source == files::Region::Source::Bytes) held += region.size;
  EXPECT_LT(held, 10000U);
  EXPECT_GT(form.size(), 5000000U);
  EXPECT_EQ(with(bytes, 100).size(), form.size());
}

TEST(ObjectWriter, AnotherSizeReplacesTheFirst) {
  const Bytes plain = assemble(two_functions);
  EXPECT_EQ(with(with(plain, 200), 100), with(plain, 100));
  EXPECT_EQ(with(with(plain, 40), 1000), with(plain, 1000));
}

TEST(ObjectWriter, SectionBetweenOthersIsReplacedWhereItStands) {
  const Bytes bytes = assemble(two_functions +
                               ".section .sframe,\"a\",@progbits\n.zero 40\n.data\n.quad 5\n"
                               ".section .late,\"a\",@progbits\n.quad 6\n");
  const Image before = open(bytes);
  const Bytes output = with(bytes, 100);
  const Image after = open(output);
  EXPECT_EQ(after.sections().size(), before.sections().size() + 1);
  EXPECT_EQ(after.find_section(".sframe")->index, before.find_section(".sframe")->index);
  EXPECT_EQ(after.find_section(".late")->index, before.find_section(".late")->index);
  EXPECT_EQ(with(output, 100), output);
}

TEST(ObjectWriter, BytesThatNoHeaderDescribesGo) {
  Bytes bytes = assemble(two_functions);
  const Bytes wanted = with(bytes, 100);
  bytes.resize(bytes.size() + 4096);
  EXPECT_EQ(with(bytes, 100), wanted);
}

TEST(ObjectWriter, WhatCannotBeReplacedIsRefused) {
  const auto failure_with = [&](const std::string& more) {
    return failure_of([bytes = assemble(two_functions + more)] { with(bytes, 100); });
  };
  EXPECT_EQ(failure_with(".section .sframe,\"a\",@progbits\nlabel: .quad 1\n.globl label\n"),
            "a.o: symbol in its .sframe section");
  EXPECT_EQ(failure_with(".section .sframe,\"aG\",@progbits,group,comdat\n.quad 1\n"),
            "a.o: .sframe belongs to a group");
  EXPECT_EQ(failure_with(".section .sframe,\"aw\",@nobits\n.zero 8\n"), "a.o: section named .sframe of type 0x8");
}

// clang's assembler for AArch64 marks where data begin.
TEST(ObjectWriter, MappingSymbolStays) {
  const auto bytes_with = [](const std::string& contents) {
    return assemble(".text\nret\n.section .sframe,\"a\",%progbits\n" + contents, "aarch64-linux-gnu-as");
  };
  const Bytes bytes = bytes_with("$d: .word 1\n");
  const Image image = open(bytes);
  const SymbolTable symbols(image, image.find_section(".symtab")->index);
  bool marked = false;
  for (std::size_t i = 0; i < symbols.size(); ++i) {
    const Symbol symbol = symbols.at(i);
    marked = marked || (symbol.section == image.find_section(".sframe")->index && symbols.name_of(symbol, 3) == "$d");
  }
  ASSERT_TRUE(marked);
  EXPECT_EQ(failure_of([&] { with(bytes, 100); }), "");
  EXPECT_EQ(failure_of([&] { with(bytes_with("$x: ret\n"), 100); }), "a.o: symbol in its .sframe section");
}

// ld would apply both.
TEST(ObjectWriter, OtherRelocationsForTheSectionAreRefused) {
  Bytes bytes = assemble(two_functions + ".section .sframe,\"a\",@progbits\n.quad 1\n");
  const Image image = open(bytes);
  set_header(bytes, ".rela.eh_frame", &Elf64_Shdr::sh_info, image.find_section(".sframe")->index);
  EXPECT_EQ(failure_of([&] { with(bytes, 100); }), "a.o: other relocations for .sframe, in .rela.eh_frame");
  // Nor may they be for a section that was not there, and now is.
  bytes = assemble(two_functions);
  set_header(bytes, ".rela.eh_frame", &Elf64_Shdr::sh_info, static_cast<Elf64_Word>(open(bytes).sections().size()));
  EXPECT_EQ(failure_of([&] { with(bytes, 100); }), "a.o: other relocations for .sframe, in .rela.eh_frame");
}

TEST(ObjectWriter, EmptySectionsStayInFrontOfWhatMovesUpToThem) {
  Bytes bytes = assemble(two_functions);
  set_header<Elf64_Off>(bytes, ".note.GNU-stack", &Elf64_Shdr::sh_offset, 1);
  const Bytes output = with(bytes, 100);
  EXPECT_EQ(with(output, 100), output);
}

TEST(ObjectCheck, NamesTheRuleThatIsBroken) {
  const Bytes bytes = assemble(two_functions);
  const Bytes good = with(bytes, 100);
  const auto violation_after = [&](const std::function<void(Bytes&)>& damage) {
    Bytes output = good;
    damage(output);
    return failure_of([&] { check_object(open(bytes), open(output)); });
  };
  EXPECT_EQ(violation_after([](Bytes&) {}), "");
  const auto expect = [&](const std::string& rule, const std::function<void(Bytes&)>& damage) {
    EXPECT_NE(violation_after(damage).find(rule), std::string::npos) << rule << "\n" << violation_after(damage);
  };
  expect(".text.first keeps its bytes", [](Bytes& b) { set_u64(b, ".text.first", 0, 0); });
  expect(".text.first keeps its header",
         [](Bytes& b) { set_header<Elf64_Xword>(b, ".text.first", &Elf64_Shdr::sh_flags, SHF_ALLOC); });
  expect("the ELF header keeps its fields", [](Bytes& b) { b[offsetof(Elf64_Ehdr, e_flags)] ^= std::byte{1}; });
  expect("contents lie apart", [](Bytes& b) {
    set_header(b, ".sframe", &Elf64_Shdr::sh_offset, open(b).find_section(".rela.sframe")->header.sh_offset);
  });
  expect("loaded, read-only and aligned",
         [](Bytes& b) { set_header<Elf64_Xword>(b, ".sframe", &Elf64_Shdr::sh_flags, SHF_ALLOC | SHF_WRITE); });
  expect("relocations ascend", [](Bytes& b) { set_u64(b, ".rela.sframe", sizeof(Elf64_Rela), 8); });
  expect("relocations ascend, inside .sframe", [](Bytes& b) { set_u64(b, ".rela.sframe", sizeof(Elf64_Rela), 100); });
  expect("against sections",
         [](Bytes& b) { set_u64(b, ".rela.sframe", offsetof(Elf64_Rela, r_info), ELF64_R_INFO(0UL, R_X86_64_PC64)); });
  expect(".rela.sframe is for .sframe", [](Bytes& b) { set_header(b, ".rela.sframe", &Elf64_Shdr::sh_info, 1U); });
}

}  // namespace
}  // namespace sframe_gen::elf::object::test
