#include "stubs/pattern.hpp"

#include <algorithm>
#include <array>
#include <cassert>
#include <charconv>
#include <string>
#include <utility>

#include "support/endian.hpp"

namespace sframe_gen::stubs {

namespace {

constexpr std::uint64_t page_size = 0x1000;

struct Referent {
  Refers refers;
  std::uint8_t addend;
};

/// "slot", "table+16"
Referent referent_of(std::string_view text) {
  constexpr std::array<std::pair<std::string_view, Refers>, 4> names{
      {{"slot", Refers::Slot}, {"table", Refers::Table}, {"header", Refers::Header}, {"any", Refers::Any}}};
  const std::size_t plus = text.find('+');
  Referent referent{Refers::Any, 0};
  bool known = false;
  for (const auto& [name, refers] : names) {
    if (name != text.substr(0, plus)) continue;
    referent.refers = refers;
    known = true;
  }
  assert(known);
  if (plus != std::string_view::npos) {
    const std::string_view number = text.substr(plus + 1);
    std::from_chars(number.data(), number.data() + number.size(), referent.addend);
  }
  return known ? referent : Referent{Refers::Any, 0};
}

template <typename Callback>
void for_each_word(std::string_view text, Callback&& callback) {
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(' '), text.size());
    if (end != 0) callback(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

bool are_digits(std::string_view word) {
  return std::ranges::all_of(word, [](char c) { return ('0' <= c && c <= '9') || ('a' <= c && c <= 'f'); });
}

unsigned value_of(char digit) {
  return static_cast<unsigned>(digit <= '9' ? digit - '0' : digit - 'a' + 10);
}

void append_bytes(Pattern& pattern, std::string_view digits) {
  assert(digits.size() % 2 == 0);
  for (std::size_t i = 0; i + 1 < digits.size(); i += 2) {
    pattern.value.push_back(static_cast<std::byte>(value_of(digits[i]) << 4U | value_of(digits[i + 1])));
    pattern.mask.push_back(std::byte{0xff});
  }
}

/// An instruction of aarch64: its fixed bits, and what the others say.
struct Instruction {
  std::string_view name;
  std::uint32_t value;
  std::uint32_t mask = 0xffffffff;
  Spelling spelling = Spelling::Number;
};

/// Arm A64 Instruction Set Architecture, by the names that patterns use.
constexpr std::array instructions{
    Instruction{"bti", 0xd503245f},        // bti c
    Instruction{"stp", 0xa9bf7bf0},        // stp x16, x30, [sp, #-16]!
    Instruction{"stp2", 0xa9bf0fe2},       // stp x2, x3, [sp, #-16]!
    Instruction{"br17", 0xd61f0220},       // br x17
    Instruction{"br2", 0xd61f0040},        // br x2
    Instruction{"autia1716", 0xd503219f},  // autia1716
    Instruction{"nop", 0xd503201f},        // nop
    Instruction{"brk", 0xd4207d00},        // brk #0x3e8
    Instruction{"paciasp", 0xd503233f},    // paciasp
    Instruction{"autiasp", 0xd50323bf},    // autiasp
    Instruction{"stp29", 0xa9bf7bfd},      // stp x29, x30, [sp, #-16]!
    Instruction{"ldp29", 0xa8c17bfd},      // ldp x29, x30, [sp], #16
    Instruction{"mov29", 0x910003fd},      // mov x29, sp
    Instruction{"ret", 0xd65f03c0},        // ret
    Instruction{"bl", 0x94000000, 0xfc000000},
    Instruction{"adrp16", 0x90000010, 0x9f00001f, Spelling::Page},
    Instruction{"adrp2", 0x90000002, 0x9f00001f, Spelling::Page},
    Instruction{"adrp3", 0x90000003, 0x9f00001f, Spelling::Page},
    Instruction{"ldr17", 0xf9400211, 0xffc003ff, Spelling::LoadFromPage},  // ldr x17, [x16, #N]
    Instruction{"ldr2", 0xf9400042, 0xffc003ff, Spelling::LoadFromPage},   // ldr x2, [x2, #N]
    Instruction{"add16", 0x91000210, 0xffc003ff, Spelling::AddToPage},     // add x16, x16, #N
    Instruction{"add3", 0x91000063, 0xffc003ff, Spelling::AddToPage},      // add x3, x3, #N
};

template <typename Integer>
void append_word(std::vector<std::byte>& bytes, Integer word) {
  for (unsigned shift = 0; shift < 32; shift += 8) bytes.push_back(static_cast<std::byte>(word >> shift));
}

std::uint64_t signed_word(std::span<const std::byte> bytes, Endian endian) {
  return static_cast<std::uint64_t>(std::int64_t{static_cast<std::int32_t>(load<std::uint32_t>(bytes, endian))});
}

/// What adrp at `place` computes: immhi is 19 bits from bit 5, immlo 2 from bit 29.
std::uint64_t page_of(std::uint32_t word, std::uint64_t place) {
  const std::uint32_t immediate = ((word >> 5U) & 0x7ffffU) << 2U | ((word >> 29U) & 3U);
  const auto pages = static_cast<std::int64_t>(std::uint64_t{immediate} << 43U) >> 43;
  return place - place % page_size + static_cast<std::uint64_t>(pages) * page_size;
}

/// Reads the fields of a stub in order.
class Fields {
 public:
  Fields(std::span<const std::byte> bytes, std::uint64_t address, const Surroundings& around)
      : bytes_(bytes), address_(address), around_(around) {}

  bool hold(const Field& field) {
    const auto at = bytes_.subspan(field.offset);
    const std::uint64_t place = address_ + field.offset;
    switch (field.spelling) {
      case Spelling::Relative:
        return is_right(field, place + 4 + signed_word(at, Endian::Little));
      case Spelling::Halfwords:
        return is_right(field, place - 2 + 2 * signed_word(at, Endian::Big));
      case Spelling::Page:
        page(field.refers) = page_of(load<std::uint32_t>(at, Endian::Little), place);
        return true;
      case Spelling::LoadFromPage:
        return is_right(field, page(field.refers) + 8 * immediate(at));
      case Spelling::AddToPage:
        return is_right(field, page(field.refers) + immediate(at));
      case Spelling::Number:
        return true;
    }
    return false;
  }

 private:
  std::uint64_t& page(Refers refers) { return pages_[static_cast<std::size_t>(refers)]; }

  static std::uint64_t immediate(std::span<const std::byte> instruction) {
    return (load<std::uint32_t>(instruction, Endian::Little) >> 10U) & 0xfffU;
  }

  bool is_right(const Field& field, std::uint64_t target) {
    switch (field.refers) {
      case Refers::Slot:
        // Two instructions that make one address have to make the same.
        return around_.is_slot(target) && std::exchange(slot_, target).value_or(target) == target;
      case Refers::Table:
        target -= field.addend;
        return around_.is_slot(target) && around_.table.value_or(target) == target &&
               std::exchange(table_, target).value_or(target) == target;
      case Refers::Header:
        return around_.header && target == *around_.header + field.addend;
      case Refers::Any:
        return true;
    }
    return false;
  }

  std::span<const std::byte> bytes_;
  std::uint64_t address_;
  const Surroundings& around_;
  std::array<std::uint64_t, 4> pages_{};
  std::optional<std::uint64_t> slot_, table_;
};

}  // namespace

bool matches(const Pattern& pattern, std::span<const std::byte> bytes, std::uint64_t address,
             const Surroundings& around) {
  for (std::size_t i = 0; i < pattern.value.size(); ++i) {
    if ((bytes[i] & pattern.mask[i]) != pattern.value[i]) return false;
  }
  Fields fields(bytes, address, around);
  return std::ranges::all_of(pattern.fields, [&](const Field& field) { return fields.hold(field); });
}

/// All patterns of a machine are made for each file with stubs, however small.
Pattern pattern_of(std::string_view text, Spelling spelling, std::vector<StubRow> rows) {
  Pattern pattern;
  pattern.value.reserve(text.size());
  pattern.mask.reserve(text.size());
  pattern.rows = std::move(rows);
  for_each_word(text, [&](std::string_view word) {
    if (are_digits(word)) return append_bytes(pattern, word);
    const Referent referent = referent_of(word);
    const bool is_number = referent.refers == Refers::Any;
    pattern.fields.push_back({static_cast<std::uint8_t>(pattern.size()), is_number ? Spelling::Number : spelling,
                              referent.refers, referent.addend});
    append_word(pattern.value, 0U);
    append_word(pattern.mask, 0U);
  });
  return pattern;
}

Pattern aarch64_pattern_of(std::string_view text, std::vector<StubRow> rows) {
  Pattern pattern;
  pattern.rows = std::move(rows);
  for_each_word(text, [&](std::string_view word) {
    const std::size_t colon = std::min(word.find(':'), word.size());
    const auto* const found = std::ranges::find(instructions, word.substr(0, colon), &Instruction::name);
    assert(found != instructions.end());
    if (found->spelling != Spelling::Number) {
      const Referent referent = referent_of(word.substr(colon + 1));
      pattern.fields.push_back(
          {static_cast<std::uint8_t>(pattern.size()), found->spelling, referent.refers, referent.addend});
    }
    append_word(pattern.value, found->value);
    append_word(pattern.mask, found->mask);
  });
  return pattern;
}

}  // namespace sframe_gen::stubs
