#include "verify/cfa_instructions.hpp"

#include <array>
#include <string>
#include <string_view>

#include "support/text.hpp"

namespace sframe_gen::verify {

namespace {

// Operands of an instruction, a letter each.
//
//   l  advance in the low six bits     r  register, ULEB128              u  ULEB128
//   1  advance in so many bytes        R  register in the low six bits   s  SLEB128
//   2  4  8                            t  second register                b  block: ULEB128 of its size, then bytes
//   p  pointer in the CIE's encoding   ?  what only an unknown instruction has

/// Opcodes 0 to 0x16 are those of DWARF 5, table 7.29.
constexpr std::array<std::string_view, 0x17> standard_operands{"",   "p",  "1",  "2", "4",  "ru", "r", "r",
                                                               "r",  "rt", "",   "",  "ru", "r",  "u", "b",
                                                               "rb", "rs", "rs", "s", "ru", "rs", "rb"};

std::string_view operands_of(std::uint8_t opcode) {
  if (opcode < standard_operands.size()) return standard_operands[opcode];
  switch (opcode) {
    case 0x1d:  // MIPS_advance_loc8: GNU as uses it for advances beyond 4 GiB
      return "8";
    case cfa::negate_ra_state_with_pc:
    case cfa::negate_ra_state:
      return "";
    case 0x2e:  // GNU_args_size
      return "u";
    case cfa::gnu_negative_offset_extended:
      return "ru";
    case 0x40:  // advance_loc
      return "l";
    case 0x80:  // offset
      return "Ru";
    case cfa::restore:
      return "R";
    default:
      return "?";
  }
}

}  // namespace

CfaInstructions::CfaInstructions(const DwarfTable& table, const DwarfCie& cie, std::span<const std::byte> instructions)
    : table_(table), cie_(cie), reader_(instructions, table.endian, table.origin, table.offset_of(instructions)) {}

std::optional<CfaInstruction> CfaInstructions::next() {
  if (reader_.at_end()) return std::nullopt;
  const std::uint8_t byte = reader_.u8("call frame instruction");
  const std::uint8_t high_bits = byte & 0xc0U, low_bits = byte & 0x3fU;
  CfaInstruction instruction;
  instruction.opcode = high_bits != 0 ? high_bits : byte;
  for (const char kind : operands_of(instruction.opcode)) read_operand(kind, low_bits, instruction);
  return instruction;
}

void CfaInstructions::read_operand(char kind, std::uint8_t low_bits, CfaInstruction& instruction) {
  constexpr const char* what = "location advance";
  switch (kind) {
    case 'l':
      instruction.advance = factored(low_bits);
      return;
    case '1':
      instruction.advance = factored(reader_.u8(what));
      return;
    case '2':
      instruction.advance = factored(reader_.u16(what));
      return;
    case '4':
      instruction.advance = factored(reader_.u32(what));
      return;
    case '8':
      instruction.advance = factored(reader_.u64(what));
      return;
    case 'p':
      instruction.location = read_location();
      return;
    case 'r':
      instruction.target = read_register();
      return;
    case 'R':
      instruction.target = low_bits;
      return;
    case 't':
      instruction.source = read_register();
      return;
    case 'u':
      reader_.uleb128("offset");
      return;
    case 's':
      reader_.sleb128("offset");
      return;
    case 'b':
      reader_.take(reader_.uleb128("size of an expression"), "expression");
      return;
    default:
      instruction.is_known = false;
  }
}

std::uint64_t CfaInstructions::read_location() {
  const bool counts_from_here = (cie_.pointer_encoding & pointer::application_bits) == pointer::pc_relative;
  const std::uint64_t base = counts_from_here ? table_.section_address + reader_.offset() : 0;
  return base + read_pointer(reader_, cie_.pointer_encoding, "operand of DW_CFA_set_loc");
}

std::uint64_t CfaInstructions::read_register() {
  const std::uint64_t at = reader_.offset(), number = reader_.uleb128("register number");
  if (number > UINT32_MAX) reader_.fail(at, "register number " + hex(number) + " is beyond any architecture's");
  return number;
}

std::uint64_t CfaInstructions::factored(std::uint64_t delta) const {
  std::uint64_t bytes = 0;
  if (__builtin_mul_overflow(delta, cie_.code_alignment, &bytes))
    reader_.fail("location advance does not fit in 64 bits");
  return bytes;
}

std::uint64_t read_pointer(ByteReader& reader, std::uint8_t encoding, const char* what) {
  switch (encoding & pointer::format_bits) {
    case 0x0:
    case 0x4:
    case 0xc:
      return reader.u64(what);
    case 0x1:
      return reader.uleb128(what);
    case 0x2:
      return reader.u16(what);
    case 0x3:
      return reader.u32(what);
    case 0x9:
      return static_cast<std::uint64_t>(reader.sleb128(what));
    case 0xa:
      return static_cast<std::uint64_t>(reader.i16(what));
    case 0xb:
      return static_cast<std::uint64_t>(reader.i32(what));
    default:
      reader.fail(std::string(what) + " has an unknown pointer format");
  }
}

}  // namespace sframe_gen::verify
