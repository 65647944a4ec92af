// What the judge reads apart from src/cfi and src/elf/object must come to the same.

#include <elf.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "cfi/cfi_builder.hpp"
#include "cfi/instruction.hpp"
#include "elf/object/relocations.hpp"
#include "verify/cfa_instructions.hpp"
#include "verify/cfi_sections.hpp"

namespace sframe_gen::test {
namespace {

/// An opcode with operands: a register, an offset or a size, and bytes of whatever else it has.
std::vector<std::byte> instruction_bytes(unsigned opcode) {
  std::vector<std::byte> bytes(40, std::byte{0});
  bytes[0] = static_cast<std::byte>(opcode);
  for (std::size_t i = 1; i < 12; ++i) bytes[i] = static_cast<std::byte>(i + 2);
  return bytes;
}

// Each opcode alone, then whatever comes of reading on in its operands: advances, registers and ends must be the same.
TEST(CfaInstructions, AreTheSameToJudgeAndJudged) {
  for (unsigned opcode = 0; opcode < 256; ++opcode) {
    const auto bytes = instruction_bytes(opcode);
    const InputOrigin section{"file", ".eh_frame"};
    verify::DwarfTable table;
    table.section_address = 0x5000;
    table.section_bytes = bytes;
    const verify::DwarfCie cie{4, 0x1b, false, false, {}};
    verify::CfaInstructions judge(table, cie, bytes);
    ByteReader reader(bytes, Endian::Little, section);
    const cfi::InstructionContext units{4, -8, 0x1b, 0x5000, true};
    while (!reader.at_end()) {
      const cfi::Instruction judged = cfi::read_instruction(reader, units);
      const auto seen = judge.next();
      ASSERT_TRUE(seen) << opcode;
      EXPECT_EQ(seen->is_known, judged.known) << opcode;
      if (!judged.known) break;
      EXPECT_EQ(seen->opcode, static_cast<std::uint8_t>(judged.opcode)) << opcode;
      EXPECT_EQ(seen->advance, judged.advance) << opcode;
      EXPECT_EQ(seen->location.value_or(0), judged.location) << opcode;
      EXPECT_EQ(seen->target.value_or(0), static_cast<std::uint32_t>(judged.target)) << opcode;
      EXPECT_EQ(seen->source.value_or(0), static_cast<std::uint32_t>(judged.source)) << opcode;
    }
    EXPECT_EQ(reader.at_end() && judge.next(), false) << opcode;
  }
}

TEST(RelocatedField, IsTheSameToJudgeAndJudged) {
  unsigned with_meaning = 0;
  for (const int number : {EM_X86_64, EM_AARCH64, EM_S390}) {
    const auto machine = static_cast<std::uint16_t>(number);
    for (std::uint32_t type = 0; type < 2048; ++type) {
      const auto judge = verify::relocated_field(machine, type);
      const auto judged = elf::object::find_relocation_type(machine, type);
      const bool has_meaning = judged && judged->form != elf::object::RelocationForm::Nothing;
      ASSERT_EQ(judge.has_value(), has_meaning) << machine << ' ' << type;
      if (!judge) continue;
      ++with_meaning;
      EXPECT_EQ(judge->size, judged->size) << machine << ' ' << type;
      EXPECT_EQ(judge->is_pc_relative, judged->form == elf::object::RelocationForm::PcRelative)
          << machine << ' ' << type;
    }
  }
  EXPECT_EQ(with_meaning, 13U);
}

}  // namespace
}  // namespace sframe_gen::test
