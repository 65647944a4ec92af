#include <gtest/gtest.h>

#include "elf/object/relocations.hpp"
#include "elf/object/toolbox.hpp"

namespace sframe_gen::elf::object::test {
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

TEST(RelocatedSection, UnknownTypeIsNamedAndNotApplied) {
  Bytes bytes = assemble(two_functions);
  set_u64(bytes, ".rela.eh_frame", info_at, ELF64_R_INFO(1UL, R_X86_64_TPOFF32));
  const RelocatedSection relocated = relocate_in(bytes, ".eh_frame");
  EXPECT_EQ(relocated.code.size(), 1U);
  ASSERT_EQ(relocated.fields.size(), 2U);
  EXPECT_EQ(relocated.fields[0].field_offset, 0x20U);
  EXPECT_EQ(relocated.fields[0].type, std::uint32_t{R_X86_64_TPOFF32});
  EXPECT_EQ(relocated.fields[0].size, 0U);
  EXPECT_EQ(relocated.fields[1].size, sizeof(std::uint32_t));
  EXPECT_EQ(load<std::uint32_t>(std::span(relocated.bytes).subspan(0x20), Endian::Little), 0U);
}

/// The packed form of `records`, as LLVM writes it.
Bytes packed(const std::vector<Elf64_Rela>& records, unsigned shift) {
  Bytes bytes;
  const auto put = [&](std::uint64_t value, bool is_signed) {
    for (;;) {
      const auto low = static_cast<std::uint8_t>(value & 0x7fU);
      value = is_signed ? static_cast<std::uint64_t>(static_cast<std::int64_t>(value) >> 7) : value >> 7U;
      const bool last = is_signed ? value + ((low & 0x40U) >> 6U) == 0 : value == 0;
      bytes.push_back(static_cast<std::byte>(last ? low : low | 0x80U));
      if (last) return;
    }
  };
  put(records.size() * 8 + 4 + shift, false);
  Elf64_Rela before{};
  for (const Elf64_Rela& next : records) {
    const std::uint64_t step = (next.r_offset - before.r_offset) >> shift;
    const std::uint64_t symbol = ELF64_R_SYM(next.r_info) - ELF64_R_SYM(before.r_info);
    const std::uint64_t type = ELF64_R_TYPE(next.r_info) - ELF64_R_TYPE(before.r_info);
    const auto addend = static_cast<std::uint64_t>(next.r_addend) - static_cast<std::uint64_t>(before.r_addend);
    const unsigned flags = (symbol != 0 ? 1U : 0U) | (type != 0 ? 2U : 0U) | (addend != 0 ? 4U : 0U);
    put((step << 3U) | flags, false);  // its first byte has flags and four bits of the step
    if (symbol != 0) put(symbol, true);
    if (type != 0) put(type, true);
    if (addend != 0) put(addend, true);
    before = next;
  }
  return bytes;
}

/// The object with the relocations of .eh_frame packed, where they stood: they take less.
Bytes with_crel(Bytes bytes, unsigned shift) {
  const Image image = open(bytes);
  const auto stored = image.bytes_of(*image.find_section(".rela.eh_frame"));
  std::vector<Elf64_Rela> records(stored.size() / record);
  std::memcpy(records.data(), stored.data(), stored.size());
  const Bytes crel = packed(records, shift);
  std::ranges::copy(crel, bytes.begin() + static_cast<std::ptrdiff_t>(stored.data() - image.file_bytes().data()));
  set_header<Elf64_Xword>(bytes, ".rela.eh_frame", &Elf64_Shdr::sh_size, crel.size());
  set_header<Elf64_Word>(bytes, ".rela.eh_frame", &Elf64_Shdr::sh_type, 0x40000014);
  return bytes;
}

TEST(RelocatedSection, ReadsPackedRelocations) {
  std::string many = two_functions;
  // Steps that take more than the four bits of the first byte, addends that go up and down.
  for (const char* const section : {".text.a", ".text.b", ".text.c"})
    many += std::string(".section ") + section + R"(,"ax",@progbits
  nop
  .cfi_startproc
  .rept 40
  .cfi_remember_state
  .cfi_restore_state
  nop
  .endr
  .cfi_endproc
)";
  const Bytes bytes = assemble(many);
  const RelocatedSection plain = relocate_in(bytes, ".eh_frame");
  ASSERT_EQ(plain.code.size(), 5U);
  for (const unsigned shift : {0U, 2U}) {
    const RelocatedSection packed_one = relocate_in(with_crel(bytes, shift), ".eh_frame");
    EXPECT_EQ(packed_one.bytes, plain.bytes);
    ASSERT_EQ(packed_one.code.size(), plain.code.size());
    for (std::size_t i = 0; i < plain.code.size(); ++i) {
      EXPECT_EQ(packed_one.code[i].address, plain.code[i].address);
      EXPECT_EQ(packed_one.code[i].addend, plain.code[i].addend);
      EXPECT_EQ(packed_one.code[i].symbol, plain.code[i].symbol);
    }
  }
}

TEST(RelocatedSection, DamageOfPackedOnesIsNamed) {
  Bytes bytes = with_crel(assemble(two_functions), 2);
  const auto size = open(bytes).find_section(".rela.eh_frame")->header.sh_size;
  set_header<Elf64_Xword>(bytes, ".rela.eh_frame", &Elf64_Shdr::sh_size, size - 1);
  EXPECT_NE(failure_of([&] { relocate_in(bytes, ".eh_frame"); }).find("a.o: .rela.eh_frame+0x"), std::string::npos);
  set_header<Elf64_Xword>(bytes, ".rela.eh_frame", &Elf64_Shdr::sh_size, 0);
  EXPECT_EQ(failure_of([&] { relocate_in(bytes, ".eh_frame"); }),
            "a.o: .rela.eh_frame+0x0: CREL header needs 1 byte, but only 0 are left");
}

TEST(RelocatedSection, WhatNoLinkerCouldStoreIsMalformed) {
  const Bytes good = assemble(two_functions);
  const auto failure_with = [&](std::uint64_t addend) {
    Bytes bytes = good;
    set_u64(bytes, ".rela.eh_frame", record + addend_at, addend);
    return failure_of([&] { relocate_in(bytes, ".eh_frame"); });
  };
  const std::string failure =
      "a.o: .rela.eh_frame+0x18: the relocation for .eh_frame+0x3c leads so far that its 4 bytes do not hold it";
  EXPECT_EQ(failure_with(1000), "");
  EXPECT_EQ(failure_with(-std::uint64_t{1000}), "");
  for (const std::uint64_t addend : {std::uint64_t{1} << 63U, std::uint64_t{1} << 32U, std::uint64_t{0x80001000},
                                     -std::uint64_t{0x80001000}, -(std::uint64_t{1} << 32U)})
    EXPECT_EQ(failure_with(addend), failure) << addend;
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
            "a.o: .rela.eh_frame+0x0: the relocation is for .eh_frame+0x5000, which has only 72 bytes");
  EXPECT_EQ(failure_after([](Bytes& bytes) { set_u64(bytes, ".rela.eh_frame", 0, UINT64_MAX - 1); }),
            "a.o: .rela.eh_frame+0x0: the relocation is for .eh_frame+0xfffffffffffffffe, which has only 72 bytes");
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
            "a.o: relocations without addends for .eh_frame");
}

}  // namespace
}  // namespace sframe_gen::elf::object::test
