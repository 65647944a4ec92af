#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "support/bytes.hpp"
#include "verify/cfi_sections.hpp"

/// Reads call frame instructions for what libdwarf does not tell: it passes over the signing of return addresses
/// on aarch64, and does not say where it stops or misreads. Shares nothing with cfi/instruction.cpp, whose rows it
/// helps to judge.
namespace sframe_gen::verify {

/// DW_CFA_* (DWARF 5, section 7.24; the others of GNU, and of DWARF for the Arm 64-bit Architecture, section 4.1).
namespace cfa {
inline constexpr std::uint8_t set_loc = 0x01, restore_extended = 0x06, remember_state = 0x0a, restore_state = 0x0b,
                              def_cfa = 0x0c, def_cfa_register = 0x0d, def_cfa_expression = 0x0f, expression = 0x10,
                              def_cfa_sf = 0x12, val_offset_sf = 0x15, val_expression = 0x16,
                              negate_ra_state_with_pc = 0x2c, negate_ra_state = 0x2d,
                              gnu_negative_offset_extended = 0x2f, restore = 0xc0;
}

/// One call frame instruction, as far as the judge looks at it.
struct CfaInstruction {
  std::uint8_t opcode = 0;                     ///< DW_CFA_*, without an operand in its low six bits
  bool is_known = true;                        ///< false: its size is not known, and what follows cannot be read
  std::optional<std::uint64_t> target = {};    ///< register that the rule is for, or the CFA's
  std::optional<std::uint64_t> source = {};    ///< second register, of DW_CFA_register
  std::uint64_t advance = 0;                   ///< bytes, factored
  std::optional<std::uint64_t> location = {};  ///< of DW_CFA_set_loc: virtual address
};

/// Goes through the instructions of a CIE, or of one of its FDEs.
class CfaInstructions {
 public:
  /// `table` must outlive the object, and hold `instructions`.
  CfaInstructions(const DwarfTable& table, const DwarfCie& cie, std::span<const std::byte> instructions);

  /// Reads the next instruction; no value at the end. Throws MalformedInput for operands that do not fit.
  std::optional<CfaInstruction> next();

 private:
  void read_operand(char kind, std::uint8_t low_bits, CfaInstruction& instruction);
  std::uint64_t read_location();
  std::uint64_t read_register();
  std::uint64_t factored(std::uint64_t delta) const;

  const DwarfTable& table_;
  const DwarfCie& cie_;
  ByteReader reader_;
};

/// The low four bits of DW_EH_PE_* are the format; the others tell what the pointer counts from (LSB 5.0,
/// section 10.5).
namespace pointer {
inline constexpr std::uint8_t format_bits = 0x0f, application_bits = 0xf0, pc_relative = 0x10, aligned = 0x50;
}

/// Reads a pointer of the format, as it is stored. `what` is for messages. Throws MalformedInput.
std::uint64_t read_pointer(ByteReader& reader, std::uint8_t encoding, const char* what);

}  // namespace sframe_gen::verify
