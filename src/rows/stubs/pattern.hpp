#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <optional>
#include <span>
#include <stdexcept>
#include <string_view>
#include <utility>

#include "cfi/rules.hpp"
#include "support/containers.hpp"

/// The instructions of a stub, byte by byte. Every bit counts but those of addresses and of numbers that say which
/// symbol it is, and the addresses have to be such as a stub refers to.
namespace sframe_gen::rows::stubs {

/// What an instruction of a stub refers to.
enum class FieldTarget : std::uint8_t {
  Slot,     ///< a pointer in the global offset table
  Table,    ///< the table itself, or one of its first words, as `addend` says
  Header,   ///< the stub that calls the dynamic linker; `addend` bytes into it
  Nowhere,  ///< address 0, or what follows the field
  Any,      ///< nothing: a number that may be any
};

/// How a field of an instruction says so.
enum class Spelling : std::uint8_t {
  Relative,      ///< amd64: 4 bytes, from their end
  Halfwords,     ///< s390x: 4 bytes, in units of 2, from the instruction 2 bytes before them
  Page,          ///< aarch64: adrp
  LoadFromPage,  ///< aarch64: ldr with an unsigned offset, in units of 8
  AddToPage,     ///< aarch64: add
  Number,        ///< 4 bytes
};

struct Field {
  std::uint8_t offset = 0;  ///< bytes into the stub
  Spelling spelling = Spelling::Number;
  FieldTarget target = FieldTarget::Any;
  std::uint8_t addend = 0;
};

/// What holds from an offset into the stub on. Without rules: control comes there in several states, or never.
struct StubRow {
  std::uint8_t offset = 0;  ///< bytes
  std::optional<cfi::Rules> rules;
  friend bool operator==(const StubRow&, const StubRow&) = default;
};

using PatternRows = SmallVector<StubRow, 5>;

struct Pattern {
  SmallVector<std::byte, 64> value, mask;  ///< clear bits of the mask belong to fields
  SmallVector<Field, 6> fields;
  PatternRows rows;  ///< the first at 0
  constexpr std::uint64_t size() const { return value.size(); }
};

/// What is around a stub: the addresses with which its own are compared.
struct StubContext {
  std::optional<std::uint64_t> header;  ///< where calls of the dynamic linker go
  std::optional<std::uint64_t> table;   ///< DT_PLTGOT
  std::function<bool(std::uint64_t)> is_slot;
};

/// Whether `bytes`, at least as long as the pattern, are a stub of its kind at `address`.
bool matches(const Pattern& pattern, std::span<const std::byte> bytes, std::uint64_t address,
             const StubContext& around);

}  // namespace sframe_gen::rows::stubs

/// Patterns from text. The compiler makes them: what a linker's stubs look like is known before any file is. To make
/// them at run time took a tenth of the time of a small file. A text that is no pattern does not compile.
///
/// Tables of them are std::to_array's: g++ 12 puts a constant std::array whose type it has deduced into memory that is
/// written, though no code does.
namespace sframe_gen::rows::stubs {

struct Referent {
  FieldTarget target;
  std::uint8_t addend;
};

/// "slot", "table+16"
constexpr Referent referent_of(std::string_view text) {
  constexpr std::array<std::pair<std::string_view, FieldTarget>, 5> names{{{"slot", FieldTarget::Slot},
                                                                           {"table", FieldTarget::Table},
                                                                           {"header", FieldTarget::Header},
                                                                           {"nowhere", FieldTarget::Nowhere},
                                                                           {"any", FieldTarget::Any}}};
  const std::size_t plus = std::min(text.find('+'), text.size());
  unsigned addend = 0;
  for (const char digit : text.substr(std::min(plus + 1, text.size())))
    addend = addend * 10 + static_cast<unsigned>(digit - '0');
  for (const auto& [name, refers] : names)
    if (name == text.substr(0, plus)) return {refers, static_cast<std::uint8_t>(addend)};
  throw std::invalid_argument("nothing that an instruction refers to");
}

template <typename Callback>
constexpr void for_each_word(std::string_view text, Callback&& callback) {
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(' '), text.size());
    if (end != 0) callback(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

constexpr bool are_digits(std::string_view word) {
  return std::ranges::all_of(word, [](char c) { return ('0' <= c && c <= '9') || ('a' <= c && c <= 'f'); });
}

constexpr unsigned value_of(char digit) {
  return static_cast<unsigned>(digit <= '9' ? digit - '0' : digit - 'a' + 10);
}

constexpr void append_byte(Pattern& pattern, unsigned value, unsigned mask) {
  pattern.value.push_back(static_cast<std::byte>(value));
  pattern.mask.push_back(static_cast<std::byte>(mask));
}

constexpr void append_bytes(Pattern& pattern, std::string_view digits) {
  if (digits.size() % 2 != 0) throw std::invalid_argument("half a byte");
  for (std::size_t i = 0; i + 1 < digits.size(); i += 2)
    append_byte(pattern, value_of(digits[i]) << 4U | value_of(digits[i + 1]), 0xff);
}

constexpr void append_word(Pattern& pattern, std::uint32_t value, std::uint32_t mask) {
  for (unsigned shift = 0; shift < 32; shift += 8) append_byte(pattern, value >> shift & 0xffU, mask >> shift & 0xffU);
}

/// A pattern from words: digits are bytes, the rest are fields of 4 bytes, as in "ff25 slot 68 any e9 header". A number
/// may be added to what a field refers to: "table+8". `spelling` is how the machine says addresses. The texts are read
/// one after the other.
constexpr Pattern pattern_of(std::initializer_list<std::string_view> texts, Spelling spelling,
                             const PatternRows& rows) {
  Pattern pattern;
  pattern.rows = rows;
  const auto append = [&](std::string_view word) {
    if (are_digits(word)) return append_bytes(pattern, word);
    const Referent referent = referent_of(word);
    const bool is_number = referent.target == FieldTarget::Any;
    pattern.fields.push_back({static_cast<std::uint8_t>(pattern.size()), is_number ? Spelling::Number : spelling,
                              referent.target, referent.addend});
    append_word(pattern, 0, 0);
  };
  for (const std::string_view text : texts) for_each_word(text, append);
  return pattern;
}

/// An instruction of aarch64: its fixed bits, and what the others say.
struct PatternInstruction {
  std::string_view name;
  std::uint32_t value = 0;
  std::uint32_t mask = 0xffffffff;
  Spelling spelling = Spelling::Number;
};

/// Arm A64 Instruction Set Architecture, by the names that patterns use.
inline constexpr std::array aarch64_instructions{
    PatternInstruction{"bti", 0xd503245f},        // bti c
    PatternInstruction{"stp", 0xa9bf7bf0},        // stp x16, x30, [sp, #-16]!
    PatternInstruction{"stp2", 0xa9bf0fe2},       // stp x2, x3, [sp, #-16]!
    PatternInstruction{"br17", 0xd61f0220},       // br x17
    PatternInstruction{"br2", 0xd61f0040},        // br x2
    PatternInstruction{"autia1716", 0xd503219f},  // autia1716
    PatternInstruction{"nop", 0xd503201f},        // nop
    PatternInstruction{"brk", 0xd4207d00},        // brk #0x3e8
    PatternInstruction{"paciasp", 0xd503233f},    // paciasp
    PatternInstruction{"autiasp", 0xd50323bf},    // autiasp
    PatternInstruction{"stp29", 0xa9bf7bfd},      // stp x29, x30, [sp, #-16]!
    PatternInstruction{"ldp29", 0xa8c17bfd},      // ldp x29, x30, [sp], #16
    PatternInstruction{"mov29", 0x910003fd},      // mov x29, sp
    PatternInstruction{"ret", 0xd65f03c0},        // ret
    PatternInstruction{"bl", 0x94000000, 0xfc000000},
    PatternInstruction{"adrp16", 0x90000010, 0x9f00001f, Spelling::Page},
    PatternInstruction{"adrp2", 0x90000002, 0x9f00001f, Spelling::Page},
    PatternInstruction{"adrp3", 0x90000003, 0x9f00001f, Spelling::Page},
    PatternInstruction{"ldr17", 0xf9400211, 0xffc003ff, Spelling::LoadFromPage},  // ldr x17, [x16, #N]
    PatternInstruction{"ldr2", 0xf9400042, 0xffc003ff, Spelling::LoadFromPage},   // ldr x2, [x2, #N]
    PatternInstruction{"add16", 0x91000210, 0xffc003ff, Spelling::AddToPage},     // add x16, x16, #N
    PatternInstruction{"add3", 0x91000063, 0xffc003ff, Spelling::AddToPage},      // add x3, x3, #N
};

constexpr const PatternInstruction& aarch64_instruction(std::string_view name) {
  for (const PatternInstruction& instruction : aarch64_instructions)
    if (instruction.name == name) return instruction;
  throw std::invalid_argument("no instruction");
}

/// A pattern of aarch64's instructions by their names here: "stp adrp16:table+16 ldr17:table+16 nop".
constexpr Pattern aarch64_pattern_of(std::initializer_list<std::string_view> texts, const PatternRows& rows) {
  Pattern pattern;
  pattern.rows = rows;
  const auto append = [&](std::string_view word) {
    const std::size_t colon = std::min(word.find(':'), word.size());
    const PatternInstruction& instruction = aarch64_instruction(word.substr(0, colon));
    if (instruction.spelling != Spelling::Number) {
      const Referent referent = referent_of(word.substr(colon + 1));
      pattern.fields.push_back(
          {static_cast<std::uint8_t>(pattern.size()), instruction.spelling, referent.target, referent.addend});
    }
    append_word(pattern, instruction.value, instruction.mask);
  };
  for (const std::string_view text : texts) for_each_word(text, append);
  return pattern;
}

}  // namespace sframe_gen::rows::stubs
