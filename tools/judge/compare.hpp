#pragma once

#include <array>
#include <cstdint>
#include <functional>

#include "elf_file.hpp"

namespace judge {

/// What a byte's row is, beside the CFI of that byte.
enum class Difference : std::uint8_t {
  Same,
  OtherBase,       ///< the CFA counts from another register: to be executed
  FpUnchanged,     ///< CFI has rbp in a slot, the row has it unchanged: before a save or after a reload, to be executed
  Expression,      ///< CFI has an expression that is not evaluated
  Missing,         ///< no row
  NoCfi,           ///< a row without CFI
  OutermostRow,    ///< by the row alone there is no caller
  FpUndefined,     ///< CFI calls rbp undefined
  WrongOutermost,  ///< by CFI alone there is no caller
  WrongCfa,
  WrongReturnAddress,
  WrongFp,  ///< other slots, or one where CFI has rbp unchanged
};
constexpr std::size_t differences = 12;
constexpr bool is_wrong(Difference difference) {
  return difference >= Difference::WrongOutermost;
}
const char* name_of(Difference difference);

/// Of the bytes from `begin` to `end`. A null row is one that is missing.
using Visit = std::function<void(std::uint64_t begin, std::uint64_t end, Difference, const Row* cfi, const Row* row)>;

/// Compares rows with CFI at every byte that either describes.
void compare(const std::vector<Row>& cfi, const std::vector<Row>& rows, const Visit& visit);

}  // namespace judge
