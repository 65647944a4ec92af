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
  enum class Form : std::uint8_t {
    Other,              ///< it takes more than a look
    Nothing,            ///< to these registers
    NothingWithNumber,  ///< and a LEB128 follows, which has one byte or two
    Advance,            ///< by the low bits
    AdvanceByte,        ///< by the byte that follows
    AdvanceWord,        ///< by the two that follow
    Step,               ///< from rules to rules
    StepWithNumber,     ///< of one byte or two
    StepWithNumbers,    ///< two, of one byte each
    Remember,
    Restore
  };

  explicit UsualInstructions(const TrackedRegisters& tracked);

  Form operator[](std::uint32_t first_bytes) const { return forms_[first_bytes & 0xffU]; }

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

  static bool second_goes_on(std::uint32_t first_bytes) { return (first_bytes & 0x8000U) != 0; }
  static bool third_goes_on(std::uint32_t first_bytes) { return (first_bytes & 0x800000U) != 0; }
  static std::uint32_t one_of(std::uint32_t first_bytes) { return first_bytes & 0xffU; }
  static std::uint32_t two_of(std::uint32_t first_bytes) { return first_bytes & 0xffffU; }

 private:
  void put(CfaOpcode opcode, Form form) { forms_[static_cast<std::uint8_t>(opcode)] = form; }

  std::array<Form, 256> forms_ = {};
};

}  // namespace sframe_gen::cfi
