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

/// Decodes one instruction, of which all bytes are there.
class S390xDecoder {
 public:
  S390xDecoder(std::span<const std::byte> code, std::uint64_t address) : code_(code), address_(address) {
    instruction_.size = static_cast<std::uint8_t>(code.size());
  }

  std::optional<MachineInstruction> decode() {
    switch (byte(0)) {
      case 0x07:
        return branch_on_condition();
      case 0x0d:
        return branch_and_save();
      case 0xa7:
        return with_immediate_half();
      case 0xb9:
        return between_registers();
      case 0xc0:
        return with_immediate_word();
      case 0xd2:  // mvc
        return instruction_;
      case 0xe3:
        return load_or_store();
      case 0xeb:
        return several_registers();
      default:
        return std::nullopt;
    }
  }

 private:
  unsigned byte(std::size_t i) const { return std::to_integer<unsigned>(code_[i]); }
  unsigned first() const { return byte(1) >> 4U; }
  unsigned second() const { return byte(1) & 15U; }
  std::int64_t half() const {
    return std::int64_t{static_cast<std::int16_t>(load<std::uint16_t>(code_.subspan(2), Endian::Big))};
  }
  std::int64_t word() const {
    return std::int64_t{static_cast<std::int32_t>(load<std::uint32_t>(code_.subspan(2), Endian::Big))};
  }

  std::optional<MachineInstruction> if_scratch(unsigned written) const {
    return is_scratch(written) ? std::optional(instruction_) : std::nullopt;
  }

  std::optional<MachineInstruction> goes(Flow flow, std::int64_t halfwords) {
    instruction_.flow = flow;
    instruction_.target = address_ + static_cast<std::uint64_t>(2 * halfwords);
    return instruction_;
  }

  /// Decodes bcr.
  std::optional<MachineInstruction> branch_on_condition() {
    instruction_.is_padding = first() == 0 || second() == 0;
    if (!instruction_.is_padding && first() != 15) return std::nullopt;
    if (!instruction_.is_padding) instruction_.flow = Flow::Leave;
    return instruction_;
  }

  /// Decodes basr, which only returns its place if it has no second register.
  std::optional<MachineInstruction> branch_and_save() {
    if (first() == return_address && second() != 0) {
      instruction_.flow = Flow::Call;
      instruction_.needs_saved_address = true;
      return instruction_;
    }
    if (second() != 0) instruction_.flow = Flow::Leave;
    return if_scratch(first());
  }

  std::optional<MachineInstruction> with_immediate_half() {
    if (byte(1) == 0x84) return goes(Flow::Branch, half());  // je
    if (second() != 0xb) return std::nullopt;
    if (first() != stack_pointer) return if_scratch(first());  // aghi
    instruction_.stack_change = half();
    return instruction_;
  }

  std::optional<MachineInstruction> between_registers() const {
    const bool is_followed = byte(1) == 0x08 || byte(1) == 0x09 || byte(1) == 0x02 || byte(1) == 0x04;
    return is_followed ? if_scratch(byte(3) >> 4U) : std::nullopt;  // agr, sgr, ltgr, lgr
  }

  std::optional<MachineInstruction> with_immediate_word() {
    if (byte(1) == 0xf4) return goes(Flow::Jump, word());                        // jg
    return second() == 0 || second() == 1 ? if_scratch(first()) : std::nullopt;  // larl, lgfi
  }

  std::optional<MachineInstruction> load_or_store() const {
    if (byte(5) == 0x24) return instruction_;                                        // stg
    return byte(5) == 0x04 || byte(5) == 0x14 ? if_scratch(first()) : std::nullopt;  // lg, lgf
  }

  std::optional<MachineInstruction> several_registers() {
    if (byte(5) == 0x0c) return if_scratch(first());  // srlg
    // stmg %r6,%r15,48(%r15); lmg %r6,%r15,208(%r15), which is the same place 160 bytes lower
    if (byte(1) != 0x6f || byte(4) != 0 || byte(2) != 0xf0) return std::nullopt;
    instruction_.saves_registers = byte(5) == 0x24 && byte(3) == 48;
    instruction_.restores_registers = byte(5) == 0x04 && byte(3) == 48 + 160;
    if (instruction_.restores_registers) instruction_.stack_change = 160;
    return instruction_.saves_registers || instruction_.restores_registers ? std::optional(instruction_) : std::nullopt;
  }

  std::span<const std::byte> code_;
  std::uint64_t address_;
  MachineInstruction instruction_;
};

}  // namespace

std::optional<MachineInstruction> decode_s390x(std::span<const std::byte> code, std::uint64_t address) {
  if (code.size() < 2) return std::nullopt;
  const unsigned size = size_of(std::to_integer<unsigned>(code[0]));
  if (code.size() < size) return std::nullopt;
  return S390xDecoder(code.first(size), address).decode();
}

}  // namespace sframe_gen::verify
