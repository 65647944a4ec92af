#include "rows/stubs/pattern.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "support/endian.hpp"

namespace sframe_gen::rows::stubs {

namespace {

constexpr std::uint64_t page_size = 0x1000;

std::uint64_t signed_word(std::span<const std::byte> bytes, Endian endian) {
  return static_cast<std::uint64_t>(std::int64_t{static_cast<std::int32_t>(load<std::uint32_t>(bytes, endian))});
}

/// What adrp at `place` computes: immhi is 19 bits from bit 5, immlo 2 from bit 29.
std::uint64_t page_of(std::uint32_t word, std::uint64_t place) {
  const std::uint32_t immediate = ((word >> 5U) & 0x7ffffU) << 2U | ((word >> 29U) & 3U);
  const auto pages = static_cast<std::int64_t>(std::uint64_t{immediate} << 43U) >> 43;
  return place - place % page_size + static_cast<std::uint64_t>(pages) * page_size;
}

std::uint64_t word_at(const std::byte* place) {
  std::uint64_t word = 0;
  std::memcpy(&word, place, sizeof word);
  return word;
}

/// Eight bytes at a time, as a PLT has thousands of entries.
bool has_fixed_bytes(const Pattern& pattern, std::span<const std::byte> bytes) {
  constexpr std::size_t word_size = sizeof(std::uint64_t);
  const std::byte* const mask = pattern.mask.begin();
  const std::byte* const value = pattern.value.begin();
  std::size_t i = 0;
  for (; pattern.size() - i >= word_size; i += word_size) {
    if ((word_at(&bytes[i]) & word_at(mask + i)) != word_at(value + i)) return false;
  }
  for (; i < pattern.size(); ++i) {
    if ((bytes[i] & mask[i]) != value[i]) return false;
  }
  return true;
}

/// Reads the fields of a stub in order.
class Fields {
 public:
  Fields(std::span<const std::byte> bytes, std::uint64_t address, const StubContext& around)
      : bytes_(bytes), address_(address), around_(around) {}

  bool hold(const Field& field) {
    const auto at = bytes_.subspan(field.offset);
    const std::uint64_t place = address_ + field.offset;
    switch (field.spelling) {
      case Spelling::Relative:
        if (field.target == FieldTarget::Nowhere && signed_word(at, Endian::Little) == 0) return true;
        return is_right(field, place + 4 + signed_word(at, Endian::Little));
      case Spelling::Halfwords:
        return is_right(field, place - 2 + 2 * signed_word(at, Endian::Big));
      case Spelling::Page:
        page(field.target) = page_of(load<std::uint32_t>(at, Endian::Little), place);
        return true;
      case Spelling::LoadFromPage:
        return is_right(field, page(field.target) + 8 * immediate(at));
      case Spelling::AddToPage:
        return is_right(field, page(field.target) + immediate(at));
      case Spelling::Number:
        return true;
    }
    return false;
  }

 private:
  std::uint64_t& page(FieldTarget target) { return pages_[static_cast<std::size_t>(target)]; }

  static std::uint64_t immediate(std::span<const std::byte> instruction) {
    return (load<std::uint32_t>(instruction, Endian::Little) >> 10U) & 0xfffU;
  }

  bool is_right(const Field& field, std::uint64_t target) {
    switch (field.target) {
      case FieldTarget::Slot:
        // Two instructions that make one address have to make the same.
        return around_.is_slot(target) && std::exchange(slot_, target).value_or(target) == target;
      case FieldTarget::Table:
        target -= field.addend;
        return around_.is_slot(target) && around_.table.value_or(target) == target &&
               std::exchange(table_, target).value_or(target) == target;
      case FieldTarget::Header:
        return around_.header && target == *around_.header + field.addend;
      case FieldTarget::Nowhere:
        return target == 0;
      case FieldTarget::Any:
        return true;
    }
    return false;
  }

  std::span<const std::byte> bytes_;
  std::uint64_t address_;
  const StubContext& around_;
  std::array<std::uint64_t, 5> pages_{};
  std::optional<std::uint64_t> slot_, table_;
};

}  // namespace

bool matches(const Pattern& pattern, std::span<const std::byte> bytes, std::uint64_t address,
             const StubContext& around) {
  if (!has_fixed_bytes(pattern, bytes)) return false;
  Fields fields(bytes, address, around);
  return std::ranges::all_of(pattern.fields, [&](const Field& field) { return fields.hold(field); });
}

}  // namespace sframe_gen::rows::stubs
