#include "elf/plan/code_references.hpp"

namespace sframe_gen::elf {

namespace {

/// Bytes in front of an operand; 0 where the code begins.
unsigned byte_before(std::span<const std::byte> code, std::size_t at, std::size_t distance) {
  return distance <= at ? std::to_integer<unsigned>(code[at - distance]) : 0U;
}

/// Whether the byte at `modrm` follows an opcode with memory operands. Without this look, chance hits in large programs
/// would be likely.
bool follows_opcode(std::span<const std::byte> code, std::size_t modrm) {
  const auto before = [&](std::size_t distance) { return byte_before(code, modrm, distance); };
  const unsigned opcode = before(1);
  if ((opcode & 0xc4) == 0 || (opcode & 0xf0) == 0x80 || (opcode & 0xfc) == 0xd0)
    return true;                                                        // add … cmp, mov, shifts
  if (opcode == 0x63 || opcode == 0x69 || opcode == 0x6b) return true;  // movsxd, imul
  if ((opcode & 0xfe) == 0xc0 || (opcode & 0xfe) == 0xc6 || (opcode & 0xf6) == 0xf6)
    return true;  // groups 2, 11, 3 … 5
  // The two- and three-byte opcodes: 0f, VEX and EVEX.
  return before(2) == 0x0f || before(3) == 0x0f || before(3) == 0xc5 || before(4) == 0xc4 || before(5) == 0x62;
}

/// Whether the four bytes at `at` may be a distance from the end of the instruction: they follow a ModRM byte with
/// mod 00 and rm 101 (AMD64 Architecture Programmer's Manual, volume 3, table A-34).
bool is_distance(std::span<const std::byte> code, std::size_t at) {
  return (byte_before(code, at, 1) & 0xc7) == 0x05 && follows_opcode(code, at - 1);
}

/// Bytes that may stand between the distance at `at` and the end of the instruction, by its opcode: an immediate is
/// what cmp, mov, imul, test and their like have, of 4 bytes or, behind an operand size prefix, 2; and many opcodes of
/// two and three bytes one of 1.
bool may_have_immediate(std::span<const std::byte> code, std::size_t at, std::uint64_t size) {
  const unsigned opcode = byte_before(code, at, 2);
  const bool of_several_bytes = byte_before(code, at, 3) == 0x0f || byte_before(code, at, 4) == 0x0f ||
                                byte_before(code, at, 4) == 0xc5 || byte_before(code, at, 5) == 0xc4 ||
                                byte_before(code, at, 6) == 0x62;
  switch (size) {
    case 0:
      return true;
    case 1:
      return of_several_bytes || opcode == 0x80 || opcode == 0x83 || opcode == 0x6b || opcode == 0xc0 ||
             opcode == 0xc1 || opcode == 0xc6 || opcode == 0xf6;
    case 2:
    case 4:
      return opcode == 0x81 || opcode == 0x69 || opcode == 0xc7 || opcode == 0xf7;
    default:
      return false;
  }
}

/// Whether the four bytes at `at` may be added to registers: table[i] of fixed files. They follow a ModRM byte with
/// mod 10, or a SIB byte behind one with mod 10 or, if the base is 101, mod 00 (tables ).
bool is_displacement(std::span<const std::byte> code, std::size_t at) {
  const unsigned last = byte_before(code, at, 1);
  if ((last & 0xc0) == 0x80 && (last & 7) != 4) return follows_opcode(code, at - 1);
  const unsigned modrm = byte_before(code, at, 2);
  const bool has_sib = (modrm & 0xc7) == 0x84 || ((modrm & 0xc7) == 0x04 && (last & 7) == 5);
  return has_sib && at >= 2 && follows_opcode(code, at - 2);
}

/// Whether the bytes in front of a 32-bit number make it an operand: what compilers use to load, push, add, compare or
/// store an address below 4 GiB (AMD64 Architecture Programmer's Manual, volume 3, appendix A). Any four bytes would
/// give chance hits in most programs.
bool is_operand(std::span<const std::byte> code, std::size_t at) {
  const auto before = [&](std::size_t distance) { return byte_before(code, at, distance); };
  const unsigned last = before(1);
  if ((last & 0xf8) == 0xb8 || last == 0x68 || last == 0x3d || last == 0x05) return true;  // mov, push, cmp, add
  if (last == 0x25 && (before(2) & 0xc7) == 0x04) return true;                             // [address]
  if ((before(2) == 0xc7 || before(2) == 0x81) && (last & 0xc0) != 0x80) return true;      // mov, cmp: register, [r]
  if (before(3) == 0xc7 && (before(2) & 0xc0) == 0x40) return true;                        // mov [r + 8 bits]
  if (before(4) == 0xc7 && (before(3) & 0xc7) == 0x44) return true;                        // mov [r + r + 8 bits]
  return (before(6) == 0xc7 && (before(5) & 0xc7) == 0x05) || is_displacement(code, at);   // mov [rip + 32 bits]
}

}  // namespace

/// An immediate of up to four bytes may stand between the distance and the end of the instruction.
bool has_relative_operand_amd64(const Code& code, const AddressRange& wanted) {
  constexpr std::uint64_t longest_immediate = 4;
  const AddressRange reached{wanted.begin - longest_immediate, wanted.size + longest_immediate};
  for (std::size_t at = 1; at + sizeof(std::int32_t) <= code.bytes.size(); ++at) {
    const auto distance = static_cast<std::int32_t>(load<std::uint32_t>(code.bytes.subspan(at), Endian::Little));
    const std::uint64_t end = code.address + at + sizeof(std::int32_t);
    const std::uint64_t target = end + static_cast<std::uint64_t>(distance);
    if (!reached.contains(target) || !is_distance(code.bytes, at)) continue;
    for (std::uint64_t immediate = 0; immediate <= longest_immediate; ++immediate)
      if (wanted.contains(target + immediate) && may_have_immediate(code.bytes, at, immediate)) return true;
  }
  return false;
}

bool has_absolute_operand_amd64(const Code& code, const AddressRange& wanted) {
  for (std::size_t at = 1; at + sizeof(std::uint32_t) <= code.bytes.size(); ++at) {
    const auto number = load<std::uint32_t>(code.bytes.subspan(at), Endian::Little);
    if (wanted.contains(number) && is_operand(code.bytes, at)) return true;
  }
  return false;
}

}  // namespace sframe_gen::elf
