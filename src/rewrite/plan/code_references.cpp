#include "rewrite/plan/code_references.hpp"

#include <algorithm>
#include <optional>
#include <vector>

namespace sframe_gen::rewrite {

namespace {

/// AArch64 instructions (Arm Architecture Reference Manual, chapter C4: masks and values of the instruction classes).
namespace aarch64 {

class InstructionWords {
 public:
  explicit InstructionWords(const CodeBytes& code) : bytes_(code.bytes) {}
  std::size_t count() const { return bytes_.size() / sizeof(std::uint32_t); }
  std::uint32_t operator[](std::size_t index) const {
    return load<std::uint32_t>(bytes_.subspan(index * sizeof(std::uint32_t)), Endian::Little);
  }

 private:
  std::span<const std::byte> bytes_;
};

constexpr bool is_adr(std::uint32_t word) {
  return (word & 0x9f000000) == 0x10000000;
}
constexpr bool is_adrp(std::uint32_t word) {
  return (word & 0x9f000000) == 0x90000000;
}
constexpr bool is_load_literal(std::uint32_t word) {
  return (word & 0x3b000000) == 0x18000000;
}
/// ADD of 64 bits, immediate not shifted.
constexpr bool is_add_immediate(std::uint32_t word) {
  return (word & 0xffc00000) == 0x91000000;
}
/// LDR, STR and their like with base and unsigned offset, of any register size.
constexpr bool is_load_or_store(std::uint32_t word) {
  return (word & 0x3b000000) == 0x39000000;
}
/// MOVZ or MOVK.
constexpr bool is_move_wide(std::uint32_t word) {
  return (word & 0x7f800000) == 0x52800000 || (word & 0x7f800000) == 0x72800000;
}

constexpr unsigned destination(std::uint32_t word) {
  return word & 31;
}
constexpr unsigned base(std::uint32_t word) {
  return word >> 5 & 31;
}

/// The signed number in the lowest `bits` bits.
constexpr std::uint64_t sign_extended(std::uint64_t value, unsigned bits) {
  const std::uint64_t sign = std::uint64_t{1} << (bits - 1);
  return (value ^ sign) - sign;
}

/// Returns the distance that ADR (in bytes) or ADRP (in pages) adds.
constexpr std::uint64_t adr_distance(std::uint32_t word) {
  return aarch64::sign_extended((word >> 5 & 0x7ffff) << 2 | (word >> 29 & 3), 21);
}

/// What is added to the base register, if this forms an address from one.
constexpr std::optional<std::uint64_t> offset_from_base(std::uint32_t word) {
  const std::uint64_t immediate = word >> 10 & 0xfff;
  if (aarch64::is_add_immediate(word)) return immediate;
  if (!aarch64::is_load_or_store(word)) return {};
  const bool is_quad = (word & 0x04800000) == 0x04800000 && word >> 30 == 0;
  return immediate << (is_quad ? 4 : word >> 30);
}

/// Whether it surely puts a new value into the 64-bit register, of the forms that compilers use most; MOVK keeps a
/// part.
constexpr bool replaces(std::uint32_t word, unsigned reg) {
  const bool is_add_or_subtract = (word & 0x1f800000) == 0x11000000;
  const bool is_logical = (word & 0x1f000000) == 0x0a000000;
  const bool is_move = (word & 0x7f800000) == 0x52800000 || (word & 0x7f800000) == 0x12800000;
  const bool is_load = (word & 0x3fc00000) == 0x39400000;
  return aarch64::destination(word) == reg &&
         (aarch64::is_adr(word) || aarch64::is_adrp(word) || is_add_or_subtract || is_logical || is_move || is_load);
}

/// A way from an instruction to another than the one after it. Calls come back.
struct Branch {
  bool ends = false;                        ///< never goes on after itself
  bool is_unknown = false;                  ///< leads where a register says
  std::optional<std::uint64_t> distance{};  ///< in instructions, modulo 2^64
};

constexpr aarch64::Branch branch_of(std::uint32_t word) {
  if ((word & 0xfc000000) == 0x14000000) return {true, false, aarch64::sign_extended(word & 0x3ffffff, 26)};
  const bool is_conditional = (word & 0xff000000) == 0x54000000 || (word & 0x7e000000) == 0x34000000;
  if (is_conditional) return {false, false, aarch64::sign_extended(word >> 5 & 0x7ffff, 19)};
  if ((word & 0x7e000000) == 0x36000000) return {false, false, aarch64::sign_extended(word >> 5 & 0x3fff, 14)};
  if ((word & 0xfe1f0000) != 0xd61f0000) return {};
  // BR, BLR, RET and ERET, with authentication or without.
  const unsigned operation = word >> 21 & 7;
  return {operation != 1, operation == 0};
}

/// The distance from an ADRP that is near, in instructions.
constexpr std::size_t reach = 1024;

/// Whether the instruction adds low bits to the page in `page_register`, which makes an address in `wanted`.
bool completes(std::uint32_t word, unsigned page_register, std::uint64_t page, const Range& wanted) {
  if (aarch64::base(word) != page_register) return false;
  const auto offset = aarch64::offset_from_base(word);
  return offset && wanted.contains(page + *offset);
}

/// Follows the page that ADRP forms to the instructions that make an address of it. Compilers schedule those away from
/// it, after branches and at the heads of loops; the same register and low bits anywhere near would be found by chance
/// in one static program of a hundred.
class PageUse {
 public:
  PageUse(const aarch64::InstructionWords& words, SearchBudget& budget)
      : words_(words), budget_(budget), is_seen_(words.count()) {}

  /// Whether an instruction that is reached from the ADRP at the index, with the page still in its register, makes an
  /// address in `wanted` of it. Where a register says what is reached, any instruction near counts. Also true where
  /// ADRPs have had more followed than eight times the code, or more looked at near them than 64 times the code
  /// and what is near 1,024 of them: that bounds time.
  bool makes_address(std::size_t adrp, std::uint64_t page, const Range& wanted) {
    const Reached reached = follow(adrp, page, wanted);
    return reached == Reached::Yes || (reached == Reached::Unknown && is_made_nearby(adrp, page, wanted));
  }

 private:
  enum class Reached { No, Yes, Unknown };

  /// Landing pads need no path of their own: a page that they share with the code that called was formed for that
  /// code's own use. Calls keep all registers, as those of a compiler that knows the callee may; into callees, where
  /// callers' registers mean nothing to a compiler, it is not followed.
  Reached follow(std::size_t adrp, std::uint64_t page, const Range& wanted) {
    const unsigned page_register = aarch64::destination(words_[adrp]);
    Reached result = Reached::No;
    for (const std::size_t index : seen_) is_seen_[index] = false;
    seen_.clear();
    pending_.assign(1, adrp + 1);
    while (!pending_.empty()) {
      std::size_t at = pending_.back();
      pending_.pop_back();
      while (at < words_.count() && !is_seen_[at]) {
        if (budget_.followed == 0) return Reached::Yes;
        --budget_.followed;
        is_seen_[at] = true;
        seen_.push_back(at);
        const std::uint32_t instruction = words_[at];
        if (aarch64::completes(instruction, page_register, page, wanted)) return Reached::Yes;
        if (aarch64::replaces(instruction, page_register)) break;
        const aarch64::Branch branch = aarch64::branch_of(instruction);
        if (branch.distance) pending_.push_back(at + *branch.distance);
        if (branch.is_unknown) result = Reached::Unknown;
        if (branch.ends) break;
        ++at;
      }
    }
    return result;
  }

  bool is_made_nearby(std::size_t adrp, std::uint64_t page, const Range& wanted) {
    if (budget_.near < 2 * aarch64::reach) return true;
    budget_.near -= 2 * aarch64::reach;
    const unsigned page_register = aarch64::destination(words_[adrp]);
    const std::size_t end = std::min(words_.count(), adrp + aarch64::reach);
    for (std::size_t i = adrp - std::min(adrp, aarch64::reach); i < end; ++i)
      if (aarch64::completes(words_[i], page_register, page, wanted)) return true;
    return false;
  }

  const aarch64::InstructionWords words_;
  SearchBudget& budget_;
  std::vector<bool> is_seen_;         ///< per instruction, in this search
  std::vector<std::size_t> seen_;     ///< those that are
  std::vector<std::size_t> pending_;  ///< where paths begin that have not been followed
};

}  // namespace aarch64

/// Bytes in front of an operand; 0 where the code begins.
unsigned byte_before(std::span<const std::byte> code, std::size_t at, std::size_t distance) {
  return distance <= at ? std::to_integer<unsigned>(code[at - distance]) : 0U;
}

/// Whether the byte at `modrm` follows an opcode with memory operands. Without this look, chance hits in large programs
/// would be likely.
bool follows_opcode(std::span<const std::byte> code, std::size_t modrm) {
  const auto before = [&](std::size_t distance) { return byte_before(code, modrm, distance); };
  const unsigned opcode = before(1);
  if ((opcode & 0xc4) == 0 || (opcode & 0xf0) == 0x80 || (opcode & 0xfc) == 0xd0)
    return true;                                                        // add … cmp, mov, shifts
  if (opcode == 0x63 || opcode == 0x69 || opcode == 0x6b) return true;  // movsxd, imul
  if ((opcode & 0xfe) == 0xc0 || (opcode & 0xfe) == 0xc6 || (opcode & 0xf6) == 0xf6)
    return true;  // groups 2, 11, 3 … 5
  // The two- and three-byte opcodes: 0f, VEX and EVEX.
  return before(2) == 0x0f || before(3) == 0x0f || before(3) == 0xc5 || before(4) == 0xc4 || before(5) == 0x62;
}

/// Whether the four bytes at `at` may be a distance from the end of the instruction: they follow a ModRM byte with
/// mod 00 and rm 101 (AMD64 Architecture Programmer's Manual, volume 3, table A-34).
bool is_distance(std::span<const std::byte> code, std::size_t at) {
  return (byte_before(code, at, 1) & 0xc7) == 0x05 && follows_opcode(code, at - 1);
}

/// Bytes that may stand between the distance at `at` and the end of the instruction, by its opcode: an immediate is
/// what cmp, mov, imul, test and their like have, of 4 bytes or, after an operand size prefix, 2; and many opcodes of
/// two and three bytes one of 1.
bool may_have_immediate(std::span<const std::byte> code, std::size_t at, std::uint64_t size) {
  const unsigned opcode = byte_before(code, at, 2);
  const bool of_several_bytes = byte_before(code, at, 3) == 0x0f || byte_before(code, at, 4) == 0x0f ||
                                byte_before(code, at, 4) == 0xc5 || byte_before(code, at, 5) == 0xc4 ||
                                byte_before(code, at, 6) == 0x62;
  switch (size) {
    case 0:
      return true;
    case 1:
      return of_several_bytes || opcode == 0x80 || opcode == 0x83 || opcode == 0x6b || opcode == 0xc0 ||
             opcode == 0xc1 || opcode == 0xc6 || opcode == 0xf6;
    case 2:
    case 4:
      return opcode == 0x81 || opcode == 0x69 || opcode == 0xc7 || opcode == 0xf7;
    default:
      return false;
  }
}

/// Whether the four bytes at `at` may be added to registers: table[i] of fixed files. They follow a ModRM byte with
/// mod 10, or a SIB byte after one with mod 10 or, if the base is 101, mod 00 (tables ).
bool is_displacement(std::span<const std::byte> code, std::size_t at) {
  const unsigned last = byte_before(code, at, 1);
  if ((last & 0xc0) == 0x80 && (last & 7) != 4) return follows_opcode(code, at - 1);
  const unsigned modrm = byte_before(code, at, 2);
  const bool has_sib = (modrm & 0xc7) == 0x84 || ((modrm & 0xc7) == 0x04 && (last & 7) == 5);
  return has_sib && at >= 2 && follows_opcode(code, at - 2);
}

/// Whether the bytes in front of a 32-bit number make it an operand: what compilers use to load, push, add, compare or
/// store an address below 4 GiB (AMD64 Architecture Programmer's Manual, volume 3, appendix A). Any four bytes would
/// give chance hits in most programs.
bool is_operand(std::span<const std::byte> code, std::size_t at) {
  const auto before = [&](std::size_t distance) { return byte_before(code, at, distance); };
  const unsigned last = before(1);
  if ((last & 0xf8) == 0xb8 || last == 0x68 || last == 0x3d || last == 0x05) return true;  // mov, push, cmp, add
  if (last == 0x25 && (before(2) & 0xc7) == 0x04) return true;                             // [address]
  if ((before(2) == 0xc7 || before(2) == 0x81) && (last & 0xc0) != 0x80) return true;      // mov, cmp: register, [r]
  if (before(3) == 0xc7 && (before(2) & 0xc0) == 0x40) return true;                        // mov [r + 8 bits]
  if (before(4) == 0xc7 && (before(3) & 0xc7) == 0x44) return true;                        // mov [r + r + 8 bits]
  return (before(6) == 0xc7 && (before(5) & 0xc7) == 0x05) || is_displacement(code, at);   // mov [rip + 32 bits]
}

/// An immediate of up to four bytes may stand between the distance and the end of the instruction.
bool relative_operand_amd64(const CodeBytes& code, const Range& wanted) {
  constexpr std::uint64_t longest_immediate = 4;
  for (std::size_t at = 1; at + sizeof(std::int32_t) <= code.bytes.size(); ++at) {
    const auto distance = static_cast<std::int32_t>(load<std::uint32_t>(code.bytes.subspan(at), Endian::Little));
    const std::uint64_t end = code.address + at + sizeof(std::int32_t);
    const std::uint64_t target = end + static_cast<std::uint64_t>(distance);
    // Modulo 2^64: `wanted` may begin at 0.
    const bool is_near = target + longest_immediate - wanted.begin < wanted.size() + longest_immediate;
    if (!is_near || !is_distance(code.bytes, at)) continue;
    for (std::uint64_t immediate = 0; immediate <= longest_immediate; ++immediate)
      if (wanted.contains(target + immediate) && may_have_immediate(code.bytes, at, immediate)) return true;
  }
  return false;
}

bool absolute_operand_amd64(const CodeBytes& code, const Range& wanted) {
  for (std::size_t at = 1; at + sizeof(std::uint32_t) <= code.bytes.size(); ++at) {
    const auto number = load<std::uint32_t>(code.bytes.subspan(at), Endian::Little);
    if (wanted.contains(number) && is_operand(code.bytes, at)) return true;
  }
  return false;
}

bool overlaps_page(std::uint64_t page, const Range& wanted) {
  return wanted.contains(page) || wanted.begin - page < 0x1000;
}

bool relative_operand_aarch64(const CodeBytes& code, const Range& wanted, SearchBudget& budget) {
  using namespace aarch64;
  const aarch64::InstructionWords words(code);
  aarch64::PageUse pages(words, budget);
  for (std::size_t i = 0; i < words.count(); ++i) {
    const std::uint32_t word = words[i];
    const std::uint64_t address = code.address + i * sizeof(std::uint32_t);
    if (aarch64::is_adr(word) && wanted.contains(address + aarch64::adr_distance(word))) return true;
    if (aarch64::is_load_literal(word) &&
        wanted.contains(address + 4 * aarch64::sign_extended(word >> 5 & 0x7ffff, 19)))
      return true;
    if (!aarch64::is_adrp(word)) continue;
    const std::uint64_t page = (address & ~std::uint64_t{0xfff}) + (aarch64::adr_distance(word) << 12);
    if (overlaps_page(page, wanted) && pages.makes_address(i, page, wanted)) return true;
  }
  return false;
}

/// Addresses of fixed files stand in literals, or two MOVZ and MOVK write their 16-bit halves, of which the upper ones
/// are zero below 4 GiB.
bool absolute_operand_aarch64(const CodeBytes& code, const Range& wanted) {
  using namespace aarch64;
  constexpr std::size_t look_ahead = 8;
  const auto half = [](std::uint32_t word) { return std::uint64_t{word >> 5 & 0xffff} << 16 * (word >> 21 & 3); };
  const aarch64::InstructionWords words(code);
  for (std::size_t i = 0; i < words.count(); ++i) {
    if (!aarch64::is_move_wide(words[i])) continue;
    for (std::size_t j = i + 1; j < std::min(words.count(), i + look_ahead); ++j) {
      const bool pair =
          aarch64::is_move_wide(words[j]) && aarch64::destination(words[i]) == aarch64::destination(words[j]);
      if (pair && wanted.contains(half(words[i]) | half(words[j]))) return true;
    }
  }
  return false;
}

/// The six bytes of an instruction in format RIL (z/Architecture Principles of Operation, "Instruction Formats"): an
/// opcode of 12 bits around a register or mask, and 32 bits more.
///
///     | opcode | r | op | immediate        |
///     0        8  12   16                48
struct RilInstruction {
  unsigned opcode;  ///< both parts
  std::uint32_t immediate;
};

RilInstruction ril_at(std::span<const std::byte> bytes) {
  const auto first = std::to_integer<unsigned>(bytes[0]);
  const auto second = std::to_integer<unsigned>(bytes[1]);
  return {first << 4 | (second & 15), load<std::uint32_t>(bytes.subspan(2), Endian::Big)};
}

/// LARL, BRCL, BRASL, and the groups c4 (LRL, LGRL, STRL, …) and c6 (EXRL, PFDRL, CRL, …), which have no other members.
constexpr bool is_relative(unsigned opcode) {
  return opcode == 0xc00 || opcode == 0xc04 || opcode == 0xc05 || opcode >> 4 == 0xc4 || opcode >> 4 == 0xc6;
}

/// Every even place is taken for an instruction's, as literals stand between them, and the length of one does not tell
/// where the next begins.
bool relative_operand_s390x(const CodeBytes& code, const Range& wanted) {
  constexpr std::size_t length = 6;
  for (std::size_t at = 0; at + length <= code.bytes.size(); at += 2) {
    if ((code.bytes[at] & std::byte{0xf0}) != std::byte{0xc0}) continue;
    const RilInstruction instruction = ril_at(code.bytes.subspan(at, length));
    const auto halfwords = static_cast<std::int64_t>(static_cast<std::int32_t>(instruction.immediate));
    const std::uint64_t target = code.address + at + 2 * static_cast<std::uint64_t>(halfwords);
    if (is_relative(instruction.opcode) && wanted.contains(target)) return true;
  }
  return false;
}

}  // namespace

bool has_address_word(const CodeBytes& code, const Range& wanted) {
  const std::size_t first = (0 - code.address) % sizeof(std::uint64_t);
  for (std::size_t at = first; at + sizeof(std::uint64_t) <= code.bytes.size(); at += sizeof(std::uint64_t))
    if (wanted.contains(load<std::uint64_t>(code.bytes.subspan(at), code.endian))) return true;
  return false;
}

SearchBudget::SearchBudget(std::uint64_t code_size)
    : followed(8 * (code_size / sizeof(std::uint32_t))),
      near(64 * (code_size / sizeof(std::uint32_t)) + 2 * sframe_gen::rewrite::aarch64::reach * 1024) {}

bool has_relative_operand(sframe::Abi abi, const CodeBytes& code, const Range& wanted, SearchBudget& budget) {
  switch (abi) {
    case sframe::Abi::Amd64:
      return relative_operand_amd64(code, wanted);
    case sframe::Abi::Aarch64Big:
    case sframe::Abi::Aarch64Little:
      return relative_operand_aarch64(code, wanted, budget);
    case sframe::Abi::S390x:
      return relative_operand_s390x(code, wanted);
  }
  return true;
}

bool has_absolute_operand(sframe::Abi abi, const CodeBytes& code, const Range& wanted) {
  switch (abi) {
    case sframe::Abi::Amd64:
      return absolute_operand_amd64(code, wanted);
    case sframe::Abi::Aarch64Big:
    case sframe::Abi::Aarch64Little:
      return absolute_operand_aarch64(code, wanted) || has_address_word(code, wanted);
    case sframe::Abi::S390x:
      // No relocation lets an instruction hold an address: it stands in the literal pool.
      return has_address_word(code, wanted);
  }
  return true;
}

std::optional<std::size_t> distance_returned(sframe::Abi abi, const CodeBytes& function, std::uint64_t address) {
  if (abi != sframe::Abi::Amd64) return {};
  // [endbr64;] lea address(%rip), %rax; mov $size, %edx; ret (Intel SDM, volume 2).
  constexpr std::uint32_t endbr64 = 0xfa1e0ff3;
  constexpr std::size_t size = 13, distance_at = 3, lea_size = 7;
  const auto& code = function.bytes;
  const bool is_marked = code.size() == size + 4 && load<std::uint32_t>(code, Endian::Little) == endbr64;
  const std::size_t begin = is_marked ? 4 : 0;
  if (code.size() != begin + size) return {};
  const auto at = [&](std::size_t index) { return std::to_integer<unsigned>(code[begin + index]); };
  if (at(0) != 0x48 || at(1) != 0x8d || at(2) != 0x05 || at(lea_size) != 0xba || at(size - 1) != 0xc3) return {};
  const auto distance =
      static_cast<std::int32_t>(load<std::uint32_t>(code.subspan(begin + distance_at), Endian::Little));
  const std::uint64_t target = function.address + begin + lea_size + static_cast<std::uint64_t>(std::int64_t{distance});
  return target == address ? std::optional(begin + distance_at) : std::nullopt;
}

}  // namespace sframe_gen::rewrite
