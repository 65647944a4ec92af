#include "object/relocated_section.hpp"

#include <gtest/gtest.h>

#include "object/toolbox.hpp"

namespace sframe_gen::object::test {
namespace {

constexpr std::uint64_t record = sizeof(Elf64_Rela);
constexpr std::uint64_t info_at = offsetof(Elf64_Rela, r_info);
constexpr std::uint64_t addend_at = offsetof(Elf64_Rela, r_addend);

RelocatedSection relocate_in(const Bytes& bytes, const std::string& name, PcBase base = PcBase::Field) {
  const Image image = open(bytes);
  return relocate(image, *image.find_section(name), base);
}

TEST(RelocatedSection, NamesTheCodeOfEachFde) {
  const Bytes bytes = assemble(two_functions);
  const Image image = open(bytes);
  const RelocatedSection relocated = relocate(image, *image.find_section(".eh_frame"));
  ASSERT_EQ(relocated.code.size(), 2U);
  EXPECT_EQ(relocated.code[0].address, image.find_section(".text.first")->header.sh_addr);
  EXPECT_EQ(relocated.code[1].address, image.find_section(".text.second")->header.sh_addr);
  EXPECT_LT(relocated.code[0].field_offset, relocated.code[1].field_offset);
  EXPECT_EQ(relocated.code[0].addend, 0);
  EXPECT_EQ(relocated.code[0].symbol_table, image.find_section(".symtab")->index);
}

TEST(RelocatedSection, FieldHoldsTheDistance) {
  const Bytes bytes = assemble(two_functions);
  const Image image = open(bytes);
  const Section& eh_frame = *image.find_section(".eh_frame");
  const RelocatedSection relocated = relocate(image, eh_frame);
  const CodeReference& first = relocated.code[0];
  const auto stored = load<std::uint32_t>(std::span(relocated.bytes).subspan(first.field_offset), Endian::Little);
  EXPECT_EQ(static_cast<std::int32_t>(stored),
            static_cast<std::int64_t>(first.address - eh_frame.header.sh_addr - first.field_offset));
}

TEST(RelocatedSection, DistanceMayCountFromTheSection) {
  const Bytes bytes = assemble(two_functions);
  const Image image = open(bytes);
  const Section& eh_frame = *image.find_section(".eh_frame");
  const RelocatedSection relocated = relocate(image, eh_frame, PcBase::Section);
  const CodeReference& second = relocated.code[1];
  const auto stored = load<std::uint32_t>(std::span(relocated.bytes).subspan(second.field_offset), Endian::Little);
  EXPECT_EQ(static_cast<std::int32_t>(stored), static_cast<std::int64_t>(second.address - eh_frame.header.sh_addr));
}

TEST(RelocatedSection, UndefinedSymbolIsNoCodeWhateverItsAddend) {
  Bytes bytes = assemble(two_functions + ".data\n.quad elsewhere\n");
  // Symbol 0 is undefined; the addend is the address that the first function has here.
  set_u64(bytes, ".rela.eh_frame", info_at, ELF64_R_INFO(0UL, R_X86_64_PC32));
  set_u64(bytes, ".rela.eh_frame", addend_at, open(bytes).find_section(".text.first")->header.sh_addr);
  EXPECT_EQ(relocate_in(bytes, ".eh_frame").code.size(), 1U);
}

TEST(RelocatedSection, PlaceBehindTheSectionIsNoCode) {
  Bytes bytes = assemble(two_functions);
  set_u64(bytes, ".rela.eh_frame", addend_at, 0x1000);
  EXPECT_EQ(relocate_in(bytes, ".eh_frame").code.size(), 1U);
}

TEST(RelocatedSection, UnknownTypeIsRefused) {
  Bytes bytes = assemble(two_functions);
  set_u64(bytes, ".rela.eh_frame", info_at, ELF64_R_INFO(1UL, R_X86_64_TPOFF32));
  EXPECT_EQ(failure_of([&] { relocate_in(bytes, ".eh_frame"); }),
            "a.o: has a relocation of type 0x17 for .eh_frame+0x20, whose meaning for it is not known");
}

TEST(RelocatedSection, DamageIsNamed) {
  const Bytes good = assemble(two_functions);
  const auto failure_after = [&](const std::function<void(Bytes&)>& damage) {
    Bytes bytes = good;
    damage(bytes);
    return failure_of([&] { relocate_in(bytes, ".eh_frame"); });
  };
  EXPECT_EQ(failure_after([](Bytes&) {}), "");
  EXPECT_EQ(failure_after([](Bytes& bytes) { set_u64(bytes, ".rela.eh_frame", 0, 0x5000); }),
            "a.o: .rela.eh_frame+0x0: the relocation is for .eh_frame+0x5000, which has only 0x48 bytes");
  EXPECT_EQ(failure_after([](Bytes& bytes) { set_u64(bytes, ".rela.eh_frame", 0, UINT64_MAX - 1); }),
            "a.o: .rela.eh_frame+0x0: the relocation is for .eh_frame+0xfffffffffffffffe, which has only 0x48 bytes");
  EXPECT_EQ(failure_after([](Bytes& bytes) {
              set_u64(bytes, ".rela.eh_frame", record + info_at, ELF64_R_INFO(0xffffUL, R_X86_64_PC32));
            }),
            "a.o: .symtab+0x78: a relocation is against symbol 65535, but there are only 5");
  EXPECT_EQ(failure_after([](Bytes& bytes) { set_header(bytes, ".rela.eh_frame", &Elf64_Shdr::sh_link, 1U); }),
            "a.o: section header table+0x0: relocations name section 1 as symbol table, which is none");
  EXPECT_EQ(failure_after([](Bytes& bytes) { set_header(bytes, ".rela.eh_frame", &Elf64_Shdr::sh_link, ~0U); }),
            "a.o: section header table+0x0: relocations name section 4294967295 as symbol table, which is none");
  EXPECT_EQ(failure_after([](Bytes& bytes) {
              set_header<Elf64_Xword>(bytes, ".rela.eh_frame", &Elf64_Shdr::sh_size, record + 4);
            }),
            "a.o: .rela.eh_frame+0x18: relocation offset needs 8 bytes, but only 4 are left");
  EXPECT_EQ(failure_after([](Bytes& bytes) { set_u64(bytes, ".rela.eh_frame", record, 0x20); }),
            "a.o: .eh_frame+0x20: two relocations are for the same place");
  EXPECT_EQ(failure_after(
                [](Bytes& bytes) { set_header<Elf64_Word>(bytes, ".rela.eh_frame", &Elf64_Shdr::sh_type, SHT_REL); }),
            "a.o: has relocations without addends, or packed ones, for .eh_frame");
}

}  // namespace
}  // namespace sframe_gen::object::test
