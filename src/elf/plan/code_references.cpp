#include "elf/plan/code_references.hpp"

#include <algorithm>

namespace sframe_gen::elf::aarch64 {

namespace {

/// How far from an ADRP is near, in instructions.
constexpr std::size_t reach = 1024;

/// Whether the instruction adds low bits to the page in `page_register`, which makes an address in `wanted`.
bool completes(std::uint32_t word, unsigned page_register, std::uint64_t page, const AddressRange& wanted) {
  if (base(word) != page_register) return false;
  const auto offset = offset_from_base(word);
  return offset && wanted.contains(page + *offset);
}

}  // namespace

PageUse::PageUse(const Words& words)
    : words_(words),
      budget_(8 * words.count()),
      near_budget_(64 * words.count() + 2 * reach * 1024),
      is_seen_(words.count()) {}

bool PageUse::makes_address(std::size_t adrp, std::uint64_t page, const AddressRange& wanted) {
  const Reached reached = follow(adrp, page, wanted);
  return reached == Reached::Yes || (reached == Reached::Unknown && is_made_nearby(adrp, page, wanted));
}

/// Landing pads need no path of their own: a page that they share with the code that called was formed for that code's
/// own use. Calls keep all registers, as those of a compiler that knows the callee may; into callees, where callers'
/// registers mean nothing to a compiler, it is not followed.
PageUse::Reached PageUse::follow(std::size_t adrp, std::uint64_t page, const AddressRange& wanted) {
  const unsigned page_register = destination(words_[adrp]);
  Reached result = Reached::No;
  for (const std::size_t index : seen_) is_seen_[index] = false;
  seen_.clear();
  pending_.assign(1, adrp + 1);
  while (!pending_.empty()) {
    std::size_t at = pending_.back();
    pending_.pop_back();
    while (at < words_.count() && !is_seen_[at]) {
      if (budget_ == 0) return Reached::Yes;
      --budget_;
      is_seen_[at] = true;
      seen_.push_back(at);
      const std::uint32_t instruction = words_[at];
      if (completes(instruction, page_register, page, wanted)) return Reached::Yes;
      if (replaces(instruction, page_register)) break;
      const Branch branch = branch_of(instruction);
      if (branch.distance) pending_.push_back(at + *branch.distance);
      if (branch.is_unknown) result = Reached::Unknown;
      if (branch.ends) break;
      ++at;
    }
  }
  return result;
}

bool PageUse::is_made_nearby(std::size_t adrp, std::uint64_t page, const AddressRange& wanted) {
  if (near_budget_ < 2 * reach) return true;
  near_budget_ -= 2 * reach;
  const unsigned page_register = destination(words_[adrp]);
  const std::size_t end = std::min(words_.count(), adrp + reach);
  for (std::size_t i = adrp - std::min(adrp, reach); i < end; ++i)
    if (completes(words_[i], page_register, page, wanted)) return true;
  return false;
}

}  // namespace sframe_gen::elf::aarch64

namespace sframe_gen::elf {

namespace {

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
/// what cmp, mov, imul, test and their like have, of 4 bytes or, behind an operand size prefix, 2; and many opcodes of
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
/// mod 10, or a SIB byte behind one with mod 10 or, if the base is 101, mod 00 (tables ).
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

}  // namespace

/// An immediate of up to four bytes may stand between the distance and the end of the instruction.
bool has_relative_operand_amd64(const Code& code, const AddressRange& wanted) {
  constexpr std::uint64_t longest_immediate = 4;
  const AddressRange reached{wanted.begin - longest_immediate, wanted.size + longest_immediate};
  for (std::size_t at = 1; at + sizeof(std::int32_t) <= code.bytes.size(); ++at) {
    const auto distance = static_cast<std::int32_t>(load<std::uint32_t>(code.bytes.subspan(at), Endian::Little));
    const std::uint64_t end = code.address + at + sizeof(std::int32_t);
    const std::uint64_t target = end + static_cast<std::uint64_t>(distance);
    if (!reached.contains(target) || !is_distance(code.bytes, at)) continue;
    for (std::uint64_t immediate = 0; immediate <= longest_immediate; ++immediate)
      if (wanted.contains(target + immediate) && may_have_immediate(code.bytes, at, immediate)) return true;
  }
  return false;
}

bool has_absolute_operand_amd64(const Code& code, const AddressRange& wanted) {
  for (std::size_t at = 1; at + sizeof(std::uint32_t) <= code.bytes.size(); ++at) {
    const auto number = load<std::uint32_t>(code.bytes.subspan(at), Endian::Little);
    if (wanted.contains(number) && is_operand(code.bytes, at)) return true;
  }
  return false;
}

namespace {

bool overlaps_page(std::uint64_t page, const AddressRange& wanted) {
  return wanted.contains(page) || wanted.begin - page < 0x1000;
}

}  // namespace

bool has_relative_operand_aarch64(const Code& code, const AddressRange& wanted) {
  using namespace aarch64;
  const Words words(code);
  PageUse pages(words);
  for (std::size_t i = 0; i < words.count(); ++i) {
    const std::uint32_t word = words[i];
    const std::uint64_t address = code.address + i * sizeof(std::uint32_t);
    if (is_adr(word) && wanted.contains(address + adr_distance(word))) return true;
    if (is_load_literal(word) && wanted.contains(address + 4 * sign_extended(word >> 5 & 0x7ffff, 19))) return true;
    if (!is_adrp(word)) continue;
    const std::uint64_t page = (address & ~std::uint64_t{0xfff}) + (adr_distance(word) << 12);
    if (overlaps_page(page, wanted) && pages.makes_address(i, page, wanted)) return true;
  }
  return false;
}

/// Addresses of fixed files stand in literals, or two MOVZ and MOVK write their 16-bit halves, of which the upper ones
/// are zero below 4 GiB.
bool has_absolute_operand_aarch64(const Code& code, const AddressRange& wanted) {
  using namespace aarch64;
  constexpr std::size_t reach = 8;
  const auto half = [](std::uint32_t word) { return std::uint64_t{word >> 5 & 0xffff} << 16 * (word >> 21 & 3); };
  const Words words(code);
  for (std::size_t i = 0; i < words.count(); ++i) {
    if (!is_move_wide(words[i])) continue;
    for (std::size_t j = i + 1; j < std::min(words.count(), i + reach); ++j) {
      const bool pair = is_move_wide(words[j]) && destination(words[i]) == destination(words[j]);
      if (pair && wanted.contains(half(words[i]) | half(words[j]))) return true;
    }
  }
  return has_address_word(code, wanted);
}

namespace {

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

}  // namespace

/// Every even place is taken for an instruction's, as literals stand between them, and the length of one does not tell
/// where the next begins.
bool has_relative_operand_s390x(const Code& code, const AddressRange& wanted) {
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

/// No relocation lets an instruction hold an address: it stands in the literal pool.
bool has_absolute_operand_s390x(const Code& code, const AddressRange& wanted) {
  return has_address_word(code, wanted);
}

}  // namespace sframe_gen::elf
