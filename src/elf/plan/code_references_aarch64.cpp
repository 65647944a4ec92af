#include <algorithm>
#include <optional>

#include "elf/plan/code_references.hpp"

namespace sframe_gen::elf {

namespace {

/// Arm Architecture Reference Manual, chapter C4: masks and values of the instruction classes.
constexpr bool is_adr(std::uint32_t word) {
  return (word & 0x9f000000) == 0x10000000;
}
constexpr bool is_adrp(std::uint32_t word) {
  return (word & 0x9f000000) == 0x90000000;
}
constexpr bool is_load_literal(std::uint32_t word) {
  return (word & 0x3b000000) == 0x18000000;
}
/// 64 bits, immediate not shifted.
constexpr bool is_add_immediate(std::uint32_t word) {
  return (word & 0xffc00000) == 0x91000000;
}
/// Base and unsigned offset, of any register size.
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

/// Of ADR in bytes, of ADRP in pages.
constexpr std::uint64_t adr_distance(std::uint32_t word) {
  return sign_extended((word >> 5 & 0x7ffff) << 2 | (word >> 29 & 3), 21);
}

/// What is added to the base register, if this forms an address from one.
constexpr std::optional<std::uint64_t> offset_from_base(std::uint32_t word) {
  const std::uint64_t immediate = word >> 10 & 0xfff;
  if (is_add_immediate(word)) return immediate;
  if (!is_load_or_store(word)) return {};
  const bool is_quad = (word & 0x04800000) == 0x04800000 && word >> 30 == 0;
  return immediate << (is_quad ? 4 : word >> 30);
}

class Words {
 public:
  explicit Words(const Code& code) : bytes_(code.bytes) {}
  std::size_t count() const { return bytes_.size() / sizeof(std::uint32_t); }
  std::uint32_t operator[](std::size_t index) const {
    return load<std::uint32_t>(bytes_.subspan(index * sizeof(std::uint32_t)), Endian::Little);
  }

 private:
  std::span<const std::byte> bytes_;
};

/// Whether the instruction adds low bits to the page in `page_register`, which makes an address in `wanted`.
bool completes(std::uint32_t word, unsigned page_register, std::uint64_t page, const AddressRange& wanted) {
  if (base(word) != page_register) return false;
  const auto offset = offset_from_base(word);
  return offset && wanted.contains(page + *offset);
}

/// Compilers schedule the instruction that adds the low bits away from ADRP, and hoist ADRP out of loops. Which path
/// leads there is not followed: any instruction near it with its register counts, unless another ADRP to that register
/// is nearer.
bool page_is_used(const Words& words, std::size_t adrp, std::uint64_t page, const AddressRange& wanted) {
  constexpr std::size_t reach = 1024;
  const std::size_t begin = adrp - std::min(adrp, reach);
  const std::size_t end = std::min(words.count(), adrp + reach);
  const unsigned used = destination(words[adrp]);
  const auto replaces_it = [&](std::uint32_t word) { return is_adrp(word) && destination(word) == used; };
  for (std::size_t i = adrp + 1; i < end && !replaces_it(words[i]); ++i)
    if (completes(words[i], used, page, wanted)) return true;
  // In front of it, where a loop leads back.
  for (std::size_t i = adrp; i > begin && !replaces_it(words[i - 1]); --i) {
    if (!completes(words[i - 1], used, page, wanted)) continue;
    constexpr std::size_t close = 16;
    bool has_its_own = false;
    for (std::size_t j = i - 1; j > 0 && i - 1 - j < close && !has_its_own; --j)
      has_its_own = replaces_it(words[j - 1]);
    if (!has_its_own) return true;
  }
  return false;
}

bool overlaps_page(std::uint64_t page, const AddressRange& wanted) {
  return wanted.contains(page) || wanted.begin - page < 0x1000;
}

}  // namespace

bool has_relative_operand_aarch64(const Code& code, const AddressRange& wanted) {
  const Words words(code);
  for (std::size_t i = 0; i < words.count(); ++i) {
    const std::uint32_t word = words[i];
    const std::uint64_t address = code.address + i * sizeof(std::uint32_t);
    if (is_adr(word) && wanted.contains(address + adr_distance(word))) return true;
    if (is_load_literal(word) && wanted.contains(address + 4 * sign_extended(word >> 5 & 0x7ffff, 19))) return true;
    if (!is_adrp(word)) continue;
    const std::uint64_t page = (address & ~std::uint64_t{0xfff}) + (adr_distance(word) << 12);
    if (overlaps_page(page, wanted) && page_is_used(words, i, page, wanted)) return true;
  }
  return false;
}

/// Addresses of fixed files stand in literals, or two MOVZ and MOVK write their 16-bit halves, of which the upper ones
/// are zero below 4 GiB.
bool has_absolute_operand_aarch64(const Code& code, const AddressRange& wanted) {
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

}  // namespace sframe_gen::elf
