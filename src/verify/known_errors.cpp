#include "verify/known_errors.hpp"

#include "cfi/instruction.hpp"

namespace sframe_gen::verify {

namespace {

const char* misread_instruction(const cfi::FrameTable& table, const cfi::Cie& cie,
                                std::span<const std::byte> instructions) {
  // Whether return addresses can be signed decides about opcodes without operands only.
  const cfi::InstructionContext context{cie.code_alignment, cie.data_alignment, cie.pointer_encoding,
                                        table.section_address, true};
  ByteReader reader(instructions, table.endian, table.origin, table.offset_of(instructions));
  while (!reader.at_end()) {
    const cfi::Instruction instruction = cfi::read_instruction(reader, context);
    if (!instruction.known) return nullptr;
    if (instruction.opcode == cfi::CfaOpcode::ValOffsetSf) return "libdwarf misreads DW_CFA_val_offset_sf";
    if (instruction.opcode == cfi::CfaOpcode::SetLoc && cie.pointer_encoding != cfi::pointer_encoding::absptr)
      return "libdwarf misreads DW_CFA_set_loc with a pointer that is no address";
  }
  return nullptr;
}

}  // namespace

const char* misread_by_libdwarf(const cfi::FrameTable& table, std::size_t fde_index) {
  const cfi::Fde& fde = table.fdes[fde_index];
  const cfi::Cie& cie = table.cies[fde.cie_index];
  const char* const in_cie = misread_instruction(table, cie, cie.initial_instructions);
  return in_cie != nullptr ? in_cie : misread_instruction(table, cie, fde.instructions);
}

}  // namespace sframe_gen::verify
