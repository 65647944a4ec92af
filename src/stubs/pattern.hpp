#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>

#include "cfi/frame_row.hpp"
#include "support/few.hpp"

/// The instructions of a stub, byte by byte. Every bit counts but those of addresses and of numbers that say which
/// symbol it is, and the addresses have to be such as a stub refers to.
namespace sframe_gen::stubs {

/// What an instruction of a stub refers to.
enum class Refers : std::uint8_t {
  Slot,    ///< a pointer in the global offset table
  Table,   ///< the table itself, or one of its first words, as `addend` says
  Header,  ///< the stub that calls the dynamic linker; `addend` bytes into it
  Any,     ///< nothing: a number that may be any
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
  Refers refers = Refers::Any;
  std::uint8_t addend = 0;
};

/// What holds from an offset into the stub on. Without rules: control comes there in several states, or never.
struct StubRow {
  std::uint8_t offset = 0;  ///< bytes
  std::optional<cfi::Rules> rules;
  friend bool operator==(const StubRow&, const StubRow&) = default;
};

using PatternRows = Few<StubRow, 5>;

struct Pattern {
  Few<std::byte, 64> value, mask;  ///< clear bits of the mask belong to fields
  Few<Field, 6> fields;
  PatternRows rows;  ///< the first at 0
  constexpr std::uint64_t size() const { return value.size(); }
};

/// What is around a stub: whatever its addresses are held against.
struct Surroundings {
  std::optional<std::uint64_t> header;  ///< where calls of the dynamic linker go
  std::optional<std::uint64_t> table;   ///< DT_PLTGOT
  std::function<bool(std::uint64_t)> is_slot;
};

/// Whether `bytes`, at least as long as the pattern, are a stub of its kind at `address`.
bool matches(const Pattern& pattern, std::span<const std::byte> bytes, std::uint64_t address,
             const Surroundings& around);

}  // namespace sframe_gen::stubs
