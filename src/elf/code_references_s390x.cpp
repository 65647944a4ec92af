#include "elf/code_references.hpp"

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
  const unsigned first = std::to_integer<unsigned>(bytes[0]);
  const unsigned second = std::to_integer<unsigned>(bytes[1]);
  return {first << 4 | (second & 15), load<std::uint32_t>(bytes.subspan(2), Endian::Big)};
}

/// LARL, BRCL, BRASL, and the groups c4 (LRL, LGRL, STRL, …) and c6 (EXRL, PFDRL, CRL, …), which have no other members.
constexpr bool is_relative(unsigned opcode) {
  return opcode == 0xc00 || opcode == 0xc04 || opcode == 0xc05 || opcode >> 4 == 0xc4 || opcode >> 4 == 0xc6;
}

/// LGFI, IILF, LLILF.
constexpr bool loads_immediate(unsigned opcode) {
  return opcode == 0xc01 || opcode == 0xc09 || opcode == 0xc0f;
}

/// Whether `counts` says so of what may be an instruction with its address: of every even place, as literals stand
/// between instructions, and the length of one does not tell where the next begins.
template <typename Counts>
bool any_ril(const Code& code, Counts counts) {
  constexpr std::size_t length = 6;
  for (std::size_t at = 0; at + length <= code.bytes.size(); at += 2) {
    if ((code.bytes[at] & std::byte{0xf0}) != std::byte{0xc0}) continue;
    if (counts(ril_at(code.bytes.subspan(at, length)), code.address + at)) return true;
  }
  return false;
}

}  // namespace

bool has_relative_operand_s390x(const Code& code, const AddressRange& wanted) {
  return any_ril(code, [&](const RilInstruction& instruction, std::uint64_t address) {
    const auto halfwords = static_cast<std::int64_t>(static_cast<std::int32_t>(instruction.immediate));
    return is_relative(instruction.opcode) && wanted.contains(address + 2 * static_cast<std::uint64_t>(halfwords));
  });
}

/// Addresses of fixed files stand in the literal pool or, below 4 GiB, in an instruction.
bool has_absolute_operand_s390x(const Code& code, const AddressRange& wanted) {
  return has_address_word(code, wanted) || any_ril(code, [&](const RilInstruction& instruction, std::uint64_t) {
           return loads_immediate(instruction.opcode) && wanted.contains(instruction.immediate);
         });
}

}  // namespace sframe_gen::elf
