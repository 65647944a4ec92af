#include "support/endian.hpp"
#include "verify/instruction.hpp"

/// Arm A64 Instruction Set Architecture. Instructions are little-endian on big-endian machines too.
namespace sframe_gen::verify {

namespace {

constexpr std::uint32_t frame_pointer = 29, return_address = 30, stack_pointer = 31;

/// Returns the signed number in `width` bits from `low` on.
std::int64_t signed_bits(std::uint32_t word, unsigned low, unsigned width) {
  return static_cast<std::int64_t>(std::uint64_t{word} << (64 - low - width)) >> (64 - width);
}

/// Checks whether a register may change without the caller being lost. Instructions that write others are not known.
bool is_scratch(std::uint32_t number) {
  return number < frame_pointer;
}

std::optional<MachineInstruction> decode_hint(std::uint32_t word) {
  MachineInstruction instruction{.size = 4};
  switch (word) {
    case 0xd503201f:  // nop
      instruction.is_padding = true;
      return instruction;
    case 0xd503245f:  // bti c
    case 0xd503219f:  // autia1716
      return instruction;
    case 0xd503233f:  // paciasp
      instruction.signs = true;
      return instruction;
    case 0xd50323bf:  // autiasp
      instruction.signs = false;
      return instruction;
    default:
      return std::nullopt;
  }
}

/// Decodes stp with the stack pointer as base, lowered first, and ldp that raises it afterwards.
std::optional<MachineInstruction> decode_pair(std::uint32_t word) {
  const std::uint32_t first = word & 31U, second = (word >> 10U) & 31U;
  MachineInstruction instruction{.size = 4, .stack_change = signed_bits(word, 15, 7) * 8};
  if ((word & 0xffc003e0) == 0xa98003e0) {
    if (instruction.stack_change != -16) return std::nullopt;
    instruction.saves_frame_record = first == frame_pointer && second == return_address;
    instruction.saves_return_address = !instruction.saves_frame_record && second == return_address;
    return instruction;
  }
  if ((word & 0xffc003e0) == 0xa8c003e0) {
    if (instruction.stack_change != 16 || first != frame_pointer || second != return_address) return std::nullopt;
    instruction.restores_frame_record = true;
    return instruction;
  }
  return std::nullopt;
}

}  // namespace

std::optional<MachineInstruction> decode_aarch64(std::span<const std::byte> code, std::uint64_t address) {
  if (code.size() < 4) return std::nullopt;
  const auto word = load<std::uint32_t>(code, Endian::Little);
  const std::uint32_t written = word & 31U, base = (word >> 5U) & 31U;
  const auto to = [&](unsigned low, unsigned width) {
    return address + static_cast<std::uint64_t>(signed_bits(word, low, width) * 4);
  };
  if (const auto hint = decode_hint(word)) return hint;
  if (const auto pair = decode_pair(word)) return pair;
  const auto flows = [](Flow flow, std::uint64_t target = 0) {
    return MachineInstruction{.size = 4, .flow = flow, .target = target, .is_padding = flow == Flow::Trap};
  };
  if (word == 0xd65f03c0) return flows(Flow::Leave);                                          // ret
  if ((word & 0xfffffc1f) == 0xd61f0000) return flows(Flow::Leave);                           // br
  if ((word & 0xffe0001f) == 0xd4200000) return flows(Flow::Trap);                            // brk
  if ((word & 0xfc000000) == 0x14000000) return flows(Flow::Jump, to(0, 26));                 // b
  if ((word & 0xfc000000) == 0x94000000) return flows(Flow::Call, to(0, 26));                 // bl
  if (word == 0x910003fd) return MachineInstruction{.size = 4, .moves_frame_pointer = true};  // mov x29, sp
  const bool plain = (word & 0x9f000000) == 0x90000000 ||                                     // adrp
                     ((word & 0xffc00000) == 0xf9400000 && base != stack_pointer) ||          // ldr
                     ((word & 0xff800000) == 0x91000000 && base != stack_pointer);            // add
  return plain && is_scratch(written) ? std::optional(MachineInstruction{.size = 4}) : std::nullopt;
}

}  // namespace sframe_gen::verify
