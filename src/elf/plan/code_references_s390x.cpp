#include "elf/plan/code_references.hpp"

namespace sframe_gen::elf {

namespace {

/// The six bytes of an instruction in format RIL (z/Architecture Principles of Operation, "Instruction Formats"): an
/// opcode of 12 bits around a register or mask, and 32 bits more.
///
///     | opcode | r | op | immediate        |
///     0        8  12   16                48
struct RilInstruction {
  unsigned opcode;  ///< both parts
  std::uint32_t immediate;
};

RilInstruction ril_at(std::span<const std::byte> bytes) {
  const auto first = std::to_integer<unsigned>(bytes[0]);
  const auto second = std::to_integer<unsigned>(bytes[1]);
  return {first << 4 | (second & 15), load<std::uint32_t>(bytes.subspan(2), Endian::Big)};
}

/// LARL, BRCL, BRASL, and the groups c4 (LRL, LGRL, STRL, …) and c6 (EXRL, PFDRL, CRL, …), which have no other members.
constexpr bool is_relative(unsigned opcode) {
  return opcode == 0xc00 || opcode == 0xc04 || opcode == 0xc05 || opcode >> 4 == 0xc4 || opcode >> 4 == 0xc6;
}

}  // namespace

/// Every even place is taken for an instruction's, as literals stand between them, and the length of one does not tell
/// where the next begins.
bool has_relative_operand_s390x(const Code& code, const AddressRange& wanted) {
  constexpr std::size_t length = 6;
  for (std::size_t at = 0; at + length <= code.bytes.size(); at += 2) {
    if ((code.bytes[at] & std::byte{0xf0}) != std::byte{0xc0}) continue;
    const RilInstruction instruction = ril_at(code.bytes.subspan(at, length));
    const auto halfwords = static_cast<std::int64_t>(static_cast<std::int32_t>(instruction.immediate));
    const std::uint64_t target = code.address + at + 2 * static_cast<std::uint64_t>(halfwords);
    if (is_relative(instruction.opcode) && wanted.contains(target)) return true;
  }
  return false;
}

/// No relocation lets an instruction hold an address: it stands in the literal pool.
bool has_absolute_operand_s390x(const Code& code, const AddressRange& wanted) {
  return has_address_word(code, wanted);
}

}  // namespace sframe_gen::elf
