#include <algorithm>

#include "elf/plan/code_references.hpp"
#include "elf/plan/instructions_aarch64.hpp"
#include "elf/plan/page_use_aarch64.hpp"

namespace sframe_gen::elf {

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

}  // namespace sframe_gen::elf
