#pragma once

#include <cstdint>
#include <optional>
#include <span>

/// What single instructions do to the registers that unwinding depends on. Go's table says how far SP is from its value
/// at a function's entry. It does not say where the frame pointer is, nor, on aarch64, whether LR was saved.
namespace sframe_gen::rows::go {

/// What an instruction does to a register.
enum class Change : std::uint8_t {
  None,
  Saved,     ///< stores it to memory at `place`, in bytes from SP after the instruction
  Restored,  ///< loads it from there, in bytes from SP before the instruction
  Other,     ///< may write it
};

struct Effect {
  std::uint8_t size = 0;  ///< bytes
  bool goes_on = true;    ///< to the next instruction, perhaps after a call
  bool is_call = false;
  bool is_return = false;
  bool is_padding = false;      ///< does nothing
  bool moves_stack = false;     ///< by what is not known
  std::int64_t stack_rise = 0;  ///< bytes that SP rises by
  Change frame_pointer = Change::None;
  Change link = Change::None;  ///< aarch64: LR
  std::int64_t place = 0;      ///< of the frame pointer
  std::int64_t link_place = 0;
  std::int64_t jump = 0;  ///< direct jumps, conditional ones as well: bytes from the instruction; 0: none
};

/// The instruction at the front of `code`. No value: one that this does not know, or that is cut off.
std::optional<Effect> effect_amd64(std::span<const std::byte> code);
std::optional<Effect> effect_aarch64(std::span<const std::byte> code);

}  // namespace sframe_gen::rows::go
