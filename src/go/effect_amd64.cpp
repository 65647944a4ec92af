#include <algorithm>
#include <array>
#include <string_view>

#include "go/effect.hpp"
#include "support/endian.hpp"

/// Intel 64 and IA-32 Architectures Software Developer's Manual, volume 2, appendix A. An instruction may write rbp or
/// rsp by its operands, or because it is known to. What is not known here to spare an operand may write it.
namespace sframe_gen::go {

namespace {

constexpr unsigned rsp = 4, rbp = 5;

/// Which operands of a ModRM byte an instruction writes, if they are general registers.
enum Writes : std::uint8_t { Nothing = 0, Reg = 1, Rm = 2, Both = 3 };

class Decoder {
 public:
  explicit Decoder(std::span<const std::byte> code) : code_(code.first(std::min<std::size_t>(code.size(), 15))) {}

  std::optional<Effect> run() {
    read_prefixes();
    const std::uint8_t opcode = take();
    if (opcode == 0xc5 || opcode == 0xc4 || opcode == 0x62) {
      read_vector(opcode);
    } else if (opcode == 0x0f) {
      read_two_byte();
    } else {
      read_one_byte(opcode);
    }
    if (bad_) return std::nullopt;
    effect_.size = static_cast<std::uint8_t>(at_);
    if (jump_) effect_.jump = *jump_ + effect_.size;
    return effect_;
  }

 private:
  std::uint8_t take() {
    if (at_ == code_.size()) {
      bad_ = true;
      return 0;
    }
    return std::to_integer<std::uint8_t>(code_[at_++]);
  }

  std::int64_t immediate(unsigned size) {
    std::uint64_t value = 0;
    for (unsigned i = 0; i < size; ++i) value |= std::uint64_t{take()} << (8 * i);
    const unsigned unused = 64 - 8 * size;
    return size == 0 ? 0 : static_cast<std::int64_t>(value << unused) >> unused;
  }
  /// What an instruction of full width has: 2 bytes after an operand size prefix.
  std::int64_t word_immediate() { return immediate(operand_16_ && (rex_ & 8U) == 0 ? 2 : 4); }

  void read_prefixes() {
    for (;;) {
      if (at_ == code_.size()) return;
      const auto byte = std::to_integer<std::uint8_t>(code_[at_]);
      constexpr std::array<std::uint8_t, 8> plain{0xf0, 0xf2, 0xf3, 0x2e, 0x36, 0x3e, 0x64, 0x65};
      if (byte == 0x66) {
        operand_16_ = true;
      } else if (std::ranges::find(plain, byte) == plain.end()) {
        break;
      }
      ++at_;
    }
    if (at_ < code_.size() && (std::to_integer<std::uint8_t>(code_[at_]) & 0xf0U) == 0x40) rex_ = take();
  }

  /// Reads ModRM, SIB and displacement.
  void read_modrm() {
    const std::uint8_t byte = take();
    mode_ = byte >> 6U;
    reg_ = (byte >> 3U & 7U) | (rex_ & 4U) << 1U;
    const unsigned low = byte & 7U;
    rm_ = low | (rex_ & 1U) << 3U;
    if (mode_ == 3) return;
    unsigned base = rm_, low_base = low;
    bool indexed = false;
    if (low == 4) {
      const std::uint8_t sib = take();
      low_base = sib & 7U;
      base = low_base | (rex_ & 1U) << 3U;
      indexed = ((sib >> 3U & 7U) | (rex_ & 2U) << 2U) != 4;
    }
    const bool no_base = mode_ == 0 && low_base == 5;
    const std::int64_t displacement = immediate(no_base || mode_ == 2 ? 4 : mode_ == 1 ? 1 : 0);
    if (low == 4 && base == rsp && !indexed && !no_base) from_stack_ = displacement;
  }

  unsigned group() const { return reg_ & 7U; }
  bool is_register(unsigned number) const { return mode_ == 3 && rm_ == number; }

  void write(unsigned number) {
    if (number == rbp) effect_.frame_pointer = Change::Other;
    if (number == rsp) effect_.moves_stack = true;
  }
  void write(Writes writes) {
    if ((writes & Reg) != 0) write(reg_);
    if ((writes & Rm) != 0 && mode_ == 3) write(rm_);
  }
  void operands(Writes writes) {
    read_modrm();
    write(writes);
  }

  void read_one_byte(std::uint8_t opcode) {
    if (opcode < 0x40) return read_arithmetic(opcode);
    if (opcode < 0x60) return read_push_or_pop(opcode);
    if (opcode >= 0x70 && opcode < 0x80) return branch(1);
    if (opcode == 0x90) effect_.is_padding = (rex_ & 1U) == 0;
    if (opcode >= 0x90 && opcode < 0x98) return write((opcode & 7U) | (rex_ & 1U) << 3U);
    if (opcode >= 0xb0 && opcode < 0xb8) return with_immediate((opcode & 7U) | (rex_ & 1U) << 3U, 1);
    if (opcode >= 0xb8 && opcode < 0xc0)
      return with_immediate((opcode & 7U) | (rex_ & 1U) << 3U, (rex_ & 8U) != 0 ? 8 : operand_16_ ? 2 : 4);
    if (opcode >= 0xd8 && opcode < 0xe0) return read_modrm();
    switch (opcode) {
      case 0x63:
        return operands(Reg);
      case 0x68:
        word_immediate();
        return push();
      case 0x6a:
        take();
        return push();
      case 0x69:
        operands(Reg);
        word_immediate();
        return;
      case 0x6b:
        operands(Reg);
        take();
        return;
      case 0x80:
      case 0x81:
      case 0x83:
        return read_arithmetic_immediate(opcode);
      case 0x84:
      case 0x85:
        return operands(Nothing);
      case 0x86:
      case 0x87:
        return operands(Both);
      case 0x88:
      case 0x89:
      case 0x8a:
      case 0x8b:
      case 0x8d:
        return read_move(opcode);
      case 0x98:
      case 0x99:
      case 0x9b:
      case 0xa4:
      case 0xa5:
      case 0xa6:
      case 0xa7:
      case 0xaa:
      case 0xab:
      case 0xac:
      case 0xad:
      case 0xae:
      case 0xaf:
      case 0xfc:
      case 0xfd:
      case 0xf8:
      case 0xf9:
        return;
      case 0x9c:
        return push();
      case 0x9d:
        return pop();
      case 0xa8:
      case 0xcd:
        take();
        return;
      case 0xa9:
        word_immediate();
        return;
      case 0xc0:
      case 0xc1:
      case 0xc6:
        operands(Rm);
        take();
        return;
      case 0xc7:
        operands(Rm);
        word_immediate();
        return;
      case 0xd0:
      case 0xd1:
      case 0xd2:
      case 0xd3:
        return operands(Rm);
      case 0xc3:
      case 0xcc:
      case 0xf4:
        effect_.goes_on = false;
        effect_.is_return = opcode == 0xc3;
        return;
      case 0xe3:
        return branch(1);
      case 0xe8:
        effect_.is_call = true;
        immediate(4);
        return;
      case 0xe9:
      case 0xeb:
        branch(opcode == 0xe9 ? 4 : 1);
        effect_.goes_on = false;
        return;
      case 0xf6:
      case 0xf7:
        read_modrm();
        if (group() < 2) opcode == 0xf6 ? static_cast<void>(take()) : static_cast<void>(word_immediate());
        if (group() == 2 || group() == 3) write(Rm);
        return;
      case 0xfe:
      case 0xff:
        return read_group_5(opcode);
      default:
        bad_ = true;
    }
  }

  void read_arithmetic(std::uint8_t opcode) {
    const bool compares = opcode >= 0x38;
    switch (opcode & 7U) {
      case 0:
      case 1:
        return operands(compares ? Nothing : Rm);
      case 2:
      case 3:
        return operands(compares ? Nothing : Reg);
      case 4:
        take();
        return;
      case 5:
        word_immediate();
        return;
      default:
        bad_ = true;
    }
  }

  void read_arithmetic_immediate(std::uint8_t opcode) {
    read_modrm();
    const std::int64_t value = opcode == 0x81 ? word_immediate() : immediate(1);
    constexpr unsigned add = 0, subtract = 5, compare = 7;
    if (group() == compare) return;
    if (is_register(rsp) && opcode != 0x80 && (rex_ & 8U) != 0 && (group() == add || group() == subtract)) {
      effect_.stack_rise = group() == add ? value : -value;
      return;
    }
    write(Rm);
  }

  void read_push_or_pop(std::uint8_t opcode) {
    const unsigned number = (opcode & 7U) | (rex_ & 1U) << 3U;
    if (opcode < 0x58) {
      push();
      if (number != rbp) return;
      effect_.frame_pointer = Change::Saved;
    } else {
      pop();
      if (number != rbp) return write(number);
      effect_.frame_pointer = Change::Restored;
    }
  }
  void push() {
    effect_.stack_rise = -8;
    bad_ = bad_ || operand_16_;
  }
  void pop() {
    effect_.stack_rise = 8;
    bad_ = bad_ || operand_16_;
  }

  void read_move(std::uint8_t opcode) {
    read_modrm();
    const bool wide = (rex_ & 8U) != 0;
    if (opcode == 0x88 || opcode == 0x89) {
      if (opcode == 0x89 && wide && reg_ == rbp && mode_ != 3 && from_stack_) {
        effect_.frame_pointer = Change::Saved;
        effect_.place = *from_stack_;
      }
      return write(Rm);
    }
    if (reg_ == rbp && opcode == 0x8b && wide && mode_ != 3 && from_stack_) {
      effect_.frame_pointer = Change::Restored;
      effect_.place = *from_stack_;
    } else if (reg_ == rsp && opcode == 0x8d && wide && from_stack_) {
      effect_.stack_rise = *from_stack_;
    } else {
      write(Reg);
    }
  }

  void read_group_5(std::uint8_t opcode) {
    read_modrm();
    switch (group()) {
      case 0:
      case 1:
        return write(Rm);
      case 2:
        bad_ = bad_ || opcode == 0xfe;
        effect_.is_call = true;
        return;
      case 4:
        bad_ = bad_ || opcode == 0xfe;
        effect_.goes_on = false;
        return;
      case 6:
        bad_ = bad_ || opcode == 0xfe;
        return push();
      default:
        bad_ = true;
    }
  }

  void branch(unsigned size) { jump_ = immediate(size); }
  void with_immediate(unsigned number, unsigned size) {
    immediate(size);
    write(number);
  }

  void read_two_byte() {
    const std::uint8_t opcode = take();
    if (opcode == 0x38 || opcode == 0x3a) return read_three_byte(opcode);
    if (opcode >= 0x40 && opcode < 0x50) return operands(Reg);
    if (opcode >= 0x80 && opcode < 0x90) return branch(4);
    if (opcode >= 0x90 && opcode < 0xa0) return operands(Rm);
    if (opcode >= 0xc8 && opcode < 0xd0) return write((opcode & 7U) | (rex_ & 1U) << 3U);
    if (opcode >= 0xd0) return operands(opcode == 0xd7 ? Reg : Nothing);
    if (opcode >= 0x50 && opcode < 0x80 && opcode != 0x77) return read_vector_operands(1, opcode);
    switch (opcode) {
      case 0x05:  // syscall
      case 0x31:  // rdtsc
      case 0x77:  // emms
      case 0xa2:  // cpuid
        return;
      case 0x0b:  // ud2
        effect_.goes_on = false;
        return;
      case 0x01:
        read_modrm();
        return group() == 4 ? write(Rm) : void();
      case 0x0d:
      case 0x18:
      case 0x19:
      case 0x1a:
      case 0x1b:
      case 0x1c:
      case 0x1d:
      case 0xa3:
      case 0xc3:
        return operands(Nothing);
      case 0x1f:
        effect_.is_padding = true;
        return operands(Nothing);
      case 0x10:
      case 0x11:
      case 0x12:
      case 0x13:
      case 0x14:
      case 0x15:
      case 0x16:
      case 0x17:
      case 0x28:
      case 0x29:
      case 0x2a:
      case 0x2b:
      case 0x2c:
      case 0x2d:
      case 0x2e:
      case 0x2f:
      case 0xc2:
      case 0xc4:
      case 0xc5:
      case 0xc6:
        return read_vector_operands(1, opcode);
      case 0xa4:
      case 0xac:
        operands(Rm);
        take();
        return;
      case 0xa5:
      case 0xad:
      case 0xab:
      case 0xae:
      case 0xb3:
      case 0xbb:
      case 0xb0:
      case 0xb1:
      case 0xc7:
        return operands(Rm);
      case 0xc0:
      case 0xc1:
        return operands(Both);
      case 0xba:
        operands(Rm);
        take();
        return;
      case 0xaf:
      case 0xb6:
      case 0xb7:
      case 0xb8:
      case 0xbc:
      case 0xbd:
      case 0xbe:
      case 0xbf:
        return operands(Reg);
      default:
        bad_ = true;
    }
  }

  void read_three_byte(std::uint8_t map) {
    const std::uint8_t opcode = take();
    if (map == 0x3a) return read_vector_operands(3, opcode);
    operands(opcode >= 0xf0 ? Reg : Nothing);
  }

  /// Instructions of vector registers, by the map of opcodes that they are in: some write a general one.
  void read_vector_operands(unsigned map, std::uint8_t opcode) {
    Writes writes = Nothing;
    bool has_immediate = map == 3;
    if (map == 1) {
      constexpr std::string_view to_reg = "\x2c\x2d\x50\x78\x79\x93\xc5\xd7",
                                 immediates = "\x70\x71\x72\x73\xc2\xc4\xc5\xc6";
      if (to_reg.find(static_cast<char>(opcode)) != std::string_view::npos) writes = Reg;
      if (opcode == 0x7e) writes = Rm;
      has_immediate = immediates.find(static_cast<char>(opcode)) != std::string_view::npos;
    } else if (map == 2) {
      if (opcode >= 0xf0) writes = Reg;
    } else if (map == 3) {
      if (opcode == 0xf0) writes = Reg;
      if (opcode >= 0x14 && opcode <= 0x17) writes = Rm;
    }
    operands(writes);
    if (has_immediate) take();
  }

  /// VEX and EVEX.
  void read_vector(std::uint8_t prefix) {
    unsigned map = 1, operand = 0;
    if (prefix == 0xc5) {
      const std::uint8_t byte = take();
      rex_ = (byte & 0x80U) == 0 ? 4 : 0;
      operand = ~(byte >> 3U) & 15U;
    } else {
      const std::uint8_t first = take(), second = take();
      rex_ = static_cast<std::uint8_t>(~(first >> 5U) & 7U);
      map = first & (prefix == 0xc4 ? 31U : 7U);
      operand = ~(second >> 3U) & 15U;
      if (prefix == 0x62) take();
    }
    if (map < 1 || map > 3) bad_ = true;
    const std::uint8_t opcode = take();
    if (map == 1 && opcode == 0x77) return;
    read_vector_operands(map, opcode);
    // BMI: the second destination of mulx, and the only one of blsr and its like.
    if (map == 2 && (opcode == 0xf3 || opcode == 0xf6)) write(operand);
  }

  std::span<const std::byte> code_;
  std::size_t at_ = 0;
  bool bad_ = false;
  bool operand_16_ = false;
  std::uint8_t rex_ = 0;
  unsigned mode_ = 0, reg_ = 0, rm_ = 0;
  std::optional<std::int64_t> from_stack_;  ///< memory at this place
  std::optional<std::int64_t> jump_;
  Effect effect_;
};

}  // namespace

std::optional<Effect> effect_amd64(std::span<const std::byte> code) {
  return Decoder(code).run();
}

}  // namespace sframe_gen::go
