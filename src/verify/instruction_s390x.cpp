#include "support/endian.hpp"
#include "verify/instruction.hpp"

/// z/Architecture Principles of Operation.
namespace sframe_gen::verify {

namespace {

constexpr unsigned frame_pointer = 11, return_address = 14, stack_pointer = 15;

bool is_scratch(unsigned number) {
  return number != frame_pointer && number != return_address && number != stack_pointer;
}

unsigned size_of(unsigned opcode) {
  return opcode < 0x40 ? 2 : opcode < 0xc0 ? 4 : 6;
}

}  // namespace

std::optional<Instruction> decode_s390x(std::span<const std::byte> code, std::uint64_t address) {
  if (code.size() < 2) return std::nullopt;
  const auto byte = [&](std::size_t i) { return std::to_integer<unsigned>(code[i]); };
  const unsigned opcode = byte(0), size = size_of(opcode);
  if (code.size() < size) return std::nullopt;
  Instruction found{.size = static_cast<std::uint8_t>(size)};
  const unsigned first = byte(1) >> 4U, second = byte(1) & 15U;
  const auto if_scratch = [&](unsigned written) { return is_scratch(written) ? std::optional(found) : std::nullopt; };
  const auto to = [&] {
    return address + static_cast<std::uint64_t>(2 * std::int64_t{static_cast<std::int32_t>(
                                                        load<std::uint32_t>(code.subspan(2), Endian::Big))});
  };
  const auto half = [&] {
    return std::int64_t{static_cast<std::int16_t>(load<std::uint16_t>(code.subspan(2), Endian::Big))};
  };
  switch (opcode) {
    case 0x07:  // bcr
      found.is_padding = first == 0 || second == 0;
      if (!found.is_padding && first != 15) return std::nullopt;
      if (!found.is_padding) found.flow = Flow::Leave;
      return found;
    case 0x0d:  // basr: without a second register it only says where it stands
      if (first == return_address && second != 0) {
        found.flow = Flow::Call;
        found.needs_saved_address = true;
        return found;
      }
      if (second != 0) found.flow = Flow::Leave;
      return if_scratch(first);
    case 0xa7:
      if (byte(1) == 0x84) {  // je
        found.flow = Flow::Branch;
        found.target = address + static_cast<std::uint64_t>(2 * half());
        return found;
      }
      if (second == 0xb && first == stack_pointer) found.stack_change = half();  // aghi
      return second == 0xb && first == stack_pointer ? std::optional(found)
             : second == 0xb                         ? if_scratch(first)
                                                     : std::nullopt;
    case 0xb9:
      switch (byte(1)) {
        case 0x08:  // agr
        case 0x09:  // sgr
        case 0x02:  // ltgr
        case 0x04:  // lgr
          return if_scratch(byte(3) >> 4U);
        default:
          return std::nullopt;
      }
    case 0xc0:
      if (byte(1) == 0xf4) {  // jg
        found.flow = Flow::Jump;
        found.target = to();
        return found;
      }
      return second == 0 || second == 1 ? if_scratch(first) : std::nullopt;  // larl, lgfi
    case 0xd2:                                                               // mvc
      return found;
    case 0xe3:
      if (byte(5) == 0x24) return found;                                             // stg
      return byte(5) == 0x04 || byte(5) == 0x14 ? if_scratch(first) : std::nullopt;  // lg, lgf
    case 0xeb:
      if (byte(5) == 0x0c) return if_scratch(first);  // srlg
      // stmg %r6,%r15,48(%r15); lmg %r6,%r15,208(%r15), which is the same place 160 bytes lower
      if (byte(1) != 0x6f || byte(4) != 0) return std::nullopt;
      found.saves_registers = byte(5) == 0x24 && byte(2) == 0xf0 && byte(3) == 48;
      found.restores_registers = byte(5) == 0x04 && byte(2) == 0xf0 && byte(3) == 48 + 160;
      if (found.restores_registers) found.stack_change = 160;
      return found.saves_registers || found.restores_registers ? std::optional(found) : std::nullopt;
    default:
      return std::nullopt;
  }
}

}  // namespace sframe_gen::verify
