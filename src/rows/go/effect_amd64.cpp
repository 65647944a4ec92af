#include <algorithm>
#include <array>
#include <stdexcept>
#include <string_view>

#include "rows/go/effect.hpp"

/// The opcode maps of the Intel 64 and IA-32 Architectures Software Developer's Manual, volume 2, appendix A, as far as
/// compilers and Go's assembler use them. An instruction may write rbp or rsp by its operands, or because it is known
/// to. The maps say of all others no more than how long they are.
namespace sframe_gen::rows::go {

namespace {

constexpr unsigned rsp = 4, rbp = 5;

using OpcodeFacts = std::uint32_t;

constexpr OpcodeFacts bit(char letter) {
  return OpcodeFacts{1} << static_cast<unsigned>(letter - 'a');
}

/// What the letters of a map say of an opcode. "-" says that nothing of this is true, and "." that it is not known.
enum OpcodeFact : OpcodeFacts {
  Immediate8 = bit('b'),   ///< an immediate of 1 byte
  Immediate32 = bit('z'),  ///< of 4 bytes, or 2
  Immediate64 = bit('w'),  ///< of 8 bytes, 4 or 2

  HasModRm = bit('m'),      ///< but writes no general register by it; so have those below, which write one
  WritesRm = bit('e'),      ///< the operand that may be in memory
  WritesReg = bit('g'),     ///< the other
  WritesVex = bit('v'),     ///< the one that a VEX prefix names
  Adds = bit('a'),          ///< an immediate to what may be in memory
  Subtracts = bit('d'),     ///< the same
  Stores = bit('s'),        ///< moves to what may be in memory
  Loads = bit('l'),         ///< moves from there
  LoadsAddress = bit('k'),  ///< lea
  ByOpcode = bit('o'),      ///< without ModRM: the opcode's low bits name the register, which is written unless pushed

  Pushes = bit('p'),
  Pops = bit('q'),
  Branches = bit('j'),  ///< by its immediate, if at all
  Calls = bit('c'),
  Ends = bit('x'),  ///< control does not go on to the next instruction
  Returns = bit('r'),
  Pads = bit('n'),  ///< does nothing

  Known = OpcodeFacts{1} << 26U,
};
constexpr OpcodeFacts with_modrm = WritesRm | WritesReg | WritesVex | Adds | Subtracts | Stores | Loads | LoadsAddress;
constexpr OpcodeFacts of_control_or_stack = Pushes | Pops | Branches | Calls | Ends | Returns;
/// Above the facts is the number of a group: bits 3 to 5 of ModRM say more of the opcode.
constexpr unsigned group_shift = 27;

constexpr OpcodeFacts facts_of(std::string_view letters) {
  if (letters == ".") return 0;
  OpcodeFacts facts = Known;
  for (const char letter : letters) {
    if ('1' <= letter && letter <= '8') {
      facts |= HasModRm | static_cast<OpcodeFacts>(letter - '0') << group_shift;
    } else if ('a' <= letter && letter <= 'z') {
      facts |= bit(letter);
    } else if (letter != '-') {
      throw std::invalid_argument("not a letter of opcode maps");
    }
  }
  return (facts & with_modrm) != 0 ? facts | HasModRm : facts;
}

/// A map from text: the opcodes in order, "m*8" for eight that are alike. A text of others does not compile.
template <std::size_t Size>
constexpr std::array<OpcodeFacts, Size> map_of(std::string_view text) {
  std::array<OpcodeFacts, Size> map{};
  std::size_t next = 0;
  while (!text.empty()) {
    const std::string_view word = text.substr(0, text.find(' '));
    text.remove_prefix(std::min(word.size() + 1, text.size()));
    const std::size_t star = std::min(word.find('*'), word.size());
    std::size_t count = star == word.size() ? 1 : 0;
    for (const char digit : word.substr(star))
      if (digit != '*') count = count * 10 + static_cast<std::size_t>(digit - '0');
    for (; count != 0; --count) map.at(next++) = facts_of(word.substr(0, star));
  }
  if (next != Size) throw std::invalid_argument("an opcode map with gaps");
  return map;
}

constexpr std::array one_byte = map_of<256>(
    "e e g g b z . . e e g g b z . . "       // 00: add, or
    "e e g g b z . . e e g g b z . . "       // 10: adc, sbb
    "e e g g b z . . e e g g b z . . "       // 20: and, sub
    "e e g g b z . . m m m m b z . . "       // 30: xor, cmp
    ".*16 "                                  // 40: REX
    "po*8 qo*8 "                             // 50
    ". . . g . . . . pz gz pb gb .*4 "       // 60: movsxd, imul
    "jb*16 "                                 // 70
    "1b 1z . 1b m m eg eg s s l l . k . . "  // 80
    "n o*7 - - . - p q . . "                 // 90: nop, xchg, cbw, cwd, fwait, pushf, popf
    ".*4 -*4 b z -*6 "                       // a0: of strings, test
    "ob*8 ow*8 "                             // b0
    "eb eb . rx . . 2b 2z .*4 x b . . "      // c0: shifts, ret, int3, int
    "e*4 .*4 m*8 "                           // d0: shifts, x87
    ". . . jb .*4 cz jxz . jxb .*4 "         // e0: jrcxz, call, jmp
    ".*4 x . 3 4 - - . . - - 5 6");          // f0: hlt, clc, stc, cld, std

constexpr std::array two_byte = map_of<256>(
    ". 7 . . . - .*5 x . m . . "         // 00: syscall, ud2, prefetchw
    "m*14 . nm "                         // 10: of vectors, prefetch, nop
    ".*8 m m m m g g m m "               // 20: of vectors
    ". - .*14 "                          // 30: rdtsc
    "g*16 "                              // 40: cmov
    "g m*15 "                            // 50: of vectors up to 7f
    "m*16 "                              // 60
    "mb*4 m*3 - .*4 m m e m "            // 70
    "jz*16 "                             // 80
    "e*16 "                              // 90: set
    ". . - m eb e .*5 e eb e e g "       // a0: cpuid, bt, shld, bts, shrd, fences, imul
    "e e . e . . g g g . 8b e g g g g "  // b0: cmpxchg, btr, movzx, popcnt, btc, bsf, bsr, movsx
    "eg eg mb m mb gb mb e o*8 "         // c0: xadd, of vectors, cmpxchg16b, bswap
    "m*7 g m*8 m*16 m*15 .");            // d0: of vectors

/// 0f 38, and the second map of VEX and EVEX: movbe, crc32, adcx, andn, blsr, bzhi, mulx and their like are at its end.
constexpr std::array three_byte_38 = map_of<256>("m*224 g*19 gv g g gv g*9");
/// 0f 3a, and the third map: pextr, rorx.
constexpr std::array three_byte_3a = map_of<256>("mb*20 eb*4 mb*216 gb mb*15");

/// The first map of VEX and EVEX: as two_byte has them, and more that convert to integers; of mask registers at 40
/// and 90.
constexpr std::array vector = map_of<256>(
    ".*16 m*8 .*8 "                 // 00
    ".*8 m m m m g g m m .*16 "     // 20
    ". m m . m m m m . . m m .*4 "  // 40
    "g m*15 m*16 "                  // 50
    "mb*4 m*3 - g g m m m m e m "   // 70
    ".*16 m m m g .*4 m m .*6 "     // 80
    ".*14 m . .*16 "                // a0: ldmxcsr
    ". . mb . mb gb mb . .*8 "      // c0
    "m*7 g m*8 m*16 m*15 .");       // d0

constexpr std::array groups = map_of<64>(
    "a e e e e d e m "    // 1: add, or, adc, sbb, and, sub, xor, cmp
    "e .*7 "              // 2: mov
    "mb mb e e m m m m "  // 3: test, not, neg, mul, imul, div, idiv
    "mz mz e e m m m m "  // 4: the same
    "e e .*6 "            // 5: inc, dec
    "e e c . x . p . "    // 6: inc, dec, call, jmp, push
    ". . m . e . . m "    // 7: xgetbv, smsw, rdtscp
    ".*4 m e e e");       // 8: bt, bts, btr, btc

/// Reads one instruction, of up to 15 bytes.
class Amd64Reader {
 public:
  explicit Amd64Reader(std::span<const std::byte> code) : code_(code.first(std::min<std::size_t>(code.size(), 15))) {}

  std::optional<Effect> run() {
    read_prefixes();
    OpcodeFacts facts = read_opcode();
    if ((facts & HasModRm) != 0) read_modrm();
    if (const OpcodeFacts group = facts >> group_shift; group != 0)
      facts = (facts & ~OpcodeFacts{Known}) | groups[(group - 1) * 8 + (reg_ & 7U)];
    const std::int64_t immediate = read_immediate(facts);
    // Intel's and AMD's processors take jumps with an operand size prefix for different ones.
    if (is_cut_off_ || (facts & Known) == 0 || (operand_16_ && (facts & of_control_or_stack) != 0)) return std::nullopt;
    effect_.size = static_cast<std::uint8_t>(at_);
    effect_.goes_on = (facts & Ends) == 0;
    effect_.is_call = (facts & Calls) != 0;
    effect_.is_return = (facts & Returns) != 0;
    effect_.is_padding = (facts & Pads) != 0 && !extends(1);  // else it is xchg with r8
    if ((facts & Branches) != 0) effect_.jump = immediate + effect_.size;
    change_registers(facts, immediate);
    return effect_;
  }

 private:
  std::uint8_t take() {
    is_cut_off_ = is_cut_off_ || at_ == code_.size();
    return is_cut_off_ ? std::uint8_t{0} : std::to_integer<std::uint8_t>(code_[at_++]);
  }

  std::int64_t read_number(unsigned size) {
    if (size == 0) return 0;
    std::uint64_t value = 0;
    for (unsigned i = 0; i < size; ++i) value |= std::uint64_t{take()} << (8 * i);
    const unsigned unused = 64 - 8 * size;
    return static_cast<std::int64_t>(value << unused) >> unused;
  }

  std::int64_t read_immediate(OpcodeFacts facts) {
    if ((facts & Immediate8) != 0) return read_number(1);
    if ((facts & Immediate64) != 0 && is_wide()) return read_number(8);
    if ((facts & (Immediate32 | Immediate64)) != 0) return read_number(operand_16_ && !is_wide() ? 2 : 4);
    return 0;
  }

  /// A bit of REX: 8 is W, 4 is R, 2 is X, 1 is B.
  bool extends(unsigned rex_bit) const { return (rex_ & rex_bit) != 0; }
  bool is_wide() const { return extends(8); }
  unsigned extended(unsigned number, unsigned rex_bit) const { return (number & 7U) | (extends(rex_bit) ? 8U : 0U); }

  void read_prefixes() {
    constexpr std::string_view of_no_concern = "\xf0\xf2\xf3\x2e\x36\x3e";  // lock, rep, segments that are not used
    for (; at_ < code_.size(); ++at_) {
      const auto byte = std::to_integer<std::uint8_t>(code_[at_]);
      const bool is_segment = (byte & 0xfeU) == 0x64;
      if (!is_segment && byte != 0x66 && of_no_concern.find(static_cast<char>(byte)) == std::string_view::npos) break;
      has_segment_ = has_segment_ || is_segment;
      operand_16_ = operand_16_ || byte == 0x66;
    }
    if (at_ < code_.size() && (code_[at_] & std::byte{0xf0}) == std::byte{0x40}) rex_ = take();
  }

  OpcodeFacts read_opcode() {
    opcode_ = take();
    if (opcode_ == 0xc4 || opcode_ == 0xc5 || opcode_ == 0x62) return read_vector_opcode(opcode_);
    if (opcode_ != 0x0f) return one_byte[opcode_];
    opcode_ = take();
    if (opcode_ != 0x38 && opcode_ != 0x3a) return two_byte[opcode_];
    const auto& map = opcode_ == 0x38 ? three_byte_38 : three_byte_3a;
    opcode_ = take();
    return map[opcode_];
  }

  /// What follows the first byte of VEX, of two bytes or three, or EVEX. They have REX's bits inverted.
  OpcodeFacts read_vector_opcode(std::uint8_t prefix) {
    if (rex_ != 0) return 0;
    std::uint8_t byte = take();
    unsigned map = 1;
    if (prefix == 0xc5) {
      rex_ = (byte & 0x80U) == 0 ? 4 : 0;
    } else {
      rex_ = static_cast<std::uint8_t>(~(byte >> 5U) & 7U);
      map = byte & (prefix == 0xc4 ? 31U : 15U);
      byte = take();
    }
    vex_register_ = ~(byte >> 3U) & 15U;
    if (prefix == 0x62) take();
    opcode_ = take();
    constexpr std::array maps{&vector, &three_byte_38, &three_byte_3a};
    return map < 1 || map > maps.size() ? 0 : (*maps.at(map - 1))[opcode_];
  }

  /// Reads ModRM, SIB and displacement.
  void read_modrm() {
    const std::uint8_t byte = take();
    const unsigned mode = byte >> 6U;
    reg_ = extended(byte >> 3U, 4);
    rm_ = extended(byte, 1);
    is_register_ = mode == 3;
    if (is_register_) return;
    unsigned base = byte & 7U;
    bool is_at_rsp = false;
    if (base == 4) {
      const std::uint8_t sib = take();
      base = sib & 7U;
      is_at_rsp = extended(base, 1) == rsp && extended(sib >> 3U, 2) == 4;  // no index
    }
    const bool has_base = mode != 0 || base != 5;
    const std::int64_t displacement = read_number(!has_base || mode == 2 ? 4 : mode == 1 ? 1 : 0);
    if (is_at_rsp && !has_segment_) from_stack_ = displacement;
  }

  void change_registers(OpcodeFacts facts, std::int64_t immediate) {
    if ((facts & Pushes) != 0) effect_.stack_rise = -8;
    if ((facts & Pops) != 0) effect_.stack_rise = 8;
    if ((facts & ByOpcode) != 0) change_by_opcode(facts);
    if ((facts & WritesVex) != 0) write(vex_register_);
    // Of these, odd opcodes are those of whole registers.
    const bool is_whole = is_wide() && (opcode_ & 1U) != 0;
    const bool moves_frame_pointer = is_whole && reg_ == rbp && from_stack_;
    if ((facts & (Stores | Loads)) != 0 && moves_frame_pointer) {
      effect_.frame_pointer = (facts & Stores) != 0 ? Change::Saved : Change::Restored;
      effect_.place = *from_stack_;
    } else if ((facts & LoadsAddress) != 0 && is_whole && reg_ == rsp && from_stack_) {
      effect_.stack_rise = *from_stack_;
    } else if ((facts & (Adds | Subtracts)) != 0 && is_whole && is_register_ && rm_ == rsp) {
      effect_.stack_rise = (facts & Adds) != 0 ? immediate : -immediate;
    } else {
      if ((facts & (WritesReg | Loads | LoadsAddress)) != 0) write(reg_);
      if ((facts & (WritesRm | Stores | Adds | Subtracts)) != 0 && is_register_) write(rm_);
    }
  }

  void change_by_opcode(OpcodeFacts facts) {
    const unsigned number = extended(opcode_, 1);
    if (number == rbp && (facts & (Pushes | Pops)) != 0) {
      effect_.frame_pointer = (facts & Pushes) != 0 ? Change::Saved : Change::Restored;
    } else if ((facts & Pushes) == 0) {
      write(number);
    }
  }

  void write(unsigned number) {
    if (number == rbp) effect_.frame_pointer = Change::Other;
    if (number == rsp) effect_.moves_stack = true;
  }

  std::span<const std::byte> code_;
  std::size_t at_ = 0;
  bool is_cut_off_ = false, operand_16_ = false, has_segment_ = false, is_register_ = false;
  std::uint8_t rex_ = 0, opcode_ = 0;
  unsigned reg_ = 0, rm_ = 0, vex_register_ = 0;
  std::optional<std::int64_t> from_stack_;  ///< memory at this place
  Effect effect_;
};

}  // namespace

std::optional<Effect> effect_amd64(std::span<const std::byte> code) {
  return Amd64Reader(code).run();
}

}  // namespace sframe_gen::rows::go
