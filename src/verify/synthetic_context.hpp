#pragma once

#include <cstdint>

#include "sframe/abi.hpp"

namespace sframe_gen::verify {

/// What a debugger calls a context, made up, at one PC: every register and every memory word has a value, unlike any
/// other's but always the same. Both sides compute with it: two rules are equal when they give equal numbers, however
/// they are spelled.
class SyntheticContext {
 public:
  SyntheticContext(std::uint64_t pc, const sframe::AbiTraits& abi)
      : pc_(pc), pc_column_(abi.abi == sframe::Abi::Amd64 ? abi.return_address : no_column) {}

  /// `number` is a DWARF register number; column 16 of AMD64 holds the PC, as GNU ld's PLT expression expects.
  std::uint64_t register_value(std::uint64_t number) const {
    if (number != pc_column_) return mix(number + 0x7265670000000000);
    pc_was_read_ = true;
    return pc_;
  }
  /// Whether anything that was computed may be otherwise at the next PC.
  bool pc_was_read() const { return pc_was_read_; }
  /// The 64-bit word at `address`.
  std::uint64_t read_memory(std::uint64_t address) const { return mix(address ^ 0x6d656d0000000000); }

 private:
  /// splitmix64's finalizer: a bijection, so different inputs never give the same value.
  static std::uint64_t mix(std::uint64_t value) {
    value += 0x9e3779b97f4a7c15;
    value = (value ^ (value >> 30U)) * 0xbf58476d1ce4e5b9;
    value = (value ^ (value >> 27U)) * 0x94d049bb133111eb;
    return value ^ (value >> 31U);
  }

  static constexpr std::uint64_t no_column = ~std::uint64_t{0};

  std::uint64_t pc_;
  std::uint64_t pc_column_;
  mutable bool pc_was_read_ = false;
};

}  // namespace sframe_gen::verify
