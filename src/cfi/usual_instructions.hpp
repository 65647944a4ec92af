#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "cfi/dwarf_constants.hpp"
#include "cfi/dwarf_register.hpp"
#include "support/endian.hpp"

namespace sframe_gen::cfi {

/// What instructions of up to three bytes do to rows of these registers, by their first byte: nearly all that
/// compilers write.
class UsualInstructions {
 public:
  enum class Effect : std::uint8_t { Other, None, Advance, Step, Remember, Restore };
  struct Form {
    Effect effect = Effect::Other;  ///< Other: it takes more than a look
    std::uint8_t numbers = 0;       ///< LEB128 that follow the first byte
    std::uint8_t fixed = 0;         ///< or so many bytes
  };

  explicit UsualInstructions(const TrackedRegisters& tracked);

  const Form& operator[](std::uint32_t first_bytes) const { return forms_[first_bytes & 0xffU]; }

  /// Up to three bytes, the first lowest. What is missing at the end looks like a number that goes on.
  static std::uint32_t first_bytes_of(std::span<const std::byte> instructions) {
    if (instructions.size() >= sizeof(std::uint32_t))
      return load<std::uint32_t>(instructions, Endian::Little) & 0xffffffU;
    std::uint32_t bytes = 0x808080;
    for (std::size_t i = 0; i < instructions.size() && i < 3; ++i) {
      bytes &= ~(0xffU << 8 * i);
      bytes |= std::to_integer<std::uint32_t>(instructions[i]) << 8 * i;
    }
    return bytes;
  }

  /// 0: more than three.
  static std::uint32_t size_of(const Form& form, std::uint32_t first_bytes) {
    const bool second_goes_on = (first_bytes & 0x8000U) != 0, third_goes_on = (first_bytes & 0x800000U) != 0;
    if (form.numbers == 0) return 1U + form.fixed;
    if (form.numbers == 1) return !second_goes_on ? 2 : !third_goes_on ? 3 : 0;
    return second_goes_on || third_goes_on ? 0 : 3;
  }

  /// By how much an advance goes on.
  static std::uint32_t delta_of(const Form& form, std::uint32_t first_bytes, Endian endian) {
    if (form.fixed == 0) return first_bytes & 0x3fU;
    if (form.fixed == 1) return first_bytes >> 8U & 0xffU;
    const auto word = static_cast<std::uint16_t>(first_bytes >> 8U);
    return endian == Endian::Little ? word : swapped(word);
  }

 private:
  void put(CfaOpcode opcode, Form form) { forms_[static_cast<std::uint8_t>(opcode)] = form; }

  std::array<Form, 256> forms_ = {};
};

}  // namespace sframe_gen::cfi
