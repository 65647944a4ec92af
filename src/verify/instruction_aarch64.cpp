#include "support/endian.hpp"
#include "verify/instruction.hpp"

/// Arm A64 Instruction Set Architecture. Instructions are little-endian on big-endian machines too.
namespace sframe_gen::verify {

namespace {

constexpr std::uint32_t frame_pointer = 29, return_address = 30, stack_pointer = 31;

/// The signed number in `width` bits from `low` on.
std::int64_t signed_bits(std::uint32_t word, unsigned low, unsigned width) {
  return static_cast<std::int64_t>(std::uint64_t{word} << (64 - low - width)) >> (64 - width);
}

/// Registers that may change without the caller being lost; what writes others is not known here.
bool is_scratch(std::uint32_t number) {
  return number < frame_pointer;
}

std::optional<Instruction> decode_hint(std::uint32_t word) {
  Instruction found{.size = 4};
  switch (word) {
    case 0xd503201f:  // nop
      found.is_padding = true;
      return found;
    case 0xd503245f:  // bti c
    case 0xd503219f:  // autia1716
      return found;
    case 0xd503233f:  // paciasp
      found.signs = true;
      return found;
    case 0xd50323bf:  // autiasp
      found.signs = false;
      return found;
    default:
      return std::nullopt;
  }
}

/// stp with the stack pointer as base, lowered first; ldp that raises it afterwards.
std::optional<Instruction> decode_pair(std::uint32_t word) {
  const std::uint32_t first = word & 31U, second = (word >> 10U) & 31U;
  Instruction found{.size = 4, .stack_change = signed_bits(word, 15, 7) * 8};
  if ((word & 0xffc003e0) == 0xa98003e0) {
    if (found.stack_change != -16) return std::nullopt;
    found.saves_frame_record = first == frame_pointer && second == return_address;
    found.saves_return_address = !found.saves_frame_record && second == return_address;
    return found;
  }
  if ((word & 0xffc003e0) == 0xa8c003e0) {
    if (found.stack_change != 16 || first != frame_pointer || second != return_address) return std::nullopt;
    found.restores_frame_record = true;
    return found;
  }
  return std::nullopt;
}

}  // namespace

std::optional<Instruction> decode_aarch64(std::span<const std::byte> code, std::uint64_t address) {
  if (code.size() < 4) return std::nullopt;
  const auto word = load<std::uint32_t>(code, Endian::Little);
  const std::uint32_t written = word & 31U, base = (word >> 5U) & 31U;
  const auto to = [&](unsigned low, unsigned width) {
    return address + static_cast<std::uint64_t>(signed_bits(word, low, width) * 4);
  };
  if (const auto hint = decode_hint(word)) return hint;
  if (const auto pair = decode_pair(word)) return pair;
  if (word == 0xd65f03c0) return Instruction{.size = 4, .flow = Flow::Leave};                                     // ret
  if ((word & 0xfffffc1f) == 0xd61f0000) return Instruction{.size = 4, .flow = Flow::Leave};                      // br
  if ((word & 0xffe0001f) == 0xd4200000) return Instruction{.size = 4, .flow = Flow::Trap, .is_padding = true};   // brk
  if ((word & 0xfc000000) == 0x14000000) return Instruction{.size = 4, .flow = Flow::Jump, .target = to(0, 26)};  // b
  if ((word & 0xfc000000) == 0x94000000) return Instruction{.size = 4, .flow = Flow::Call, .target = to(0, 26)};  // bl
  if (word == 0x910003fd) return Instruction{.size = 4, .moves_frame_pointer = true};  // mov x29, sp
  const bool plain = (word & 0x9f000000) == 0x90000000 ||                              // adrp
                     ((word & 0xffc00000) == 0xf9400000 && base != stack_pointer) ||   // ldr
                     ((word & 0xff800000) == 0x91000000 && base != stack_pointer);     // add
  return plain && is_scratch(written) ? std::optional(Instruction{.size = 4}) : std::nullopt;
}

}  // namespace sframe_gen::verify
