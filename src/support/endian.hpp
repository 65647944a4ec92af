#pragma once

#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "sframe_gen/format.hpp"

namespace sframe_gen {

inline constexpr Endian host_endian = std::endian::native == std::endian::little ? Endian::Little : Endian::Big;

/// `value` with its bytes in the other order.
template <std::unsigned_integral T>
constexpr T swapped(T value) {
  if constexpr (sizeof(T) == 2) return __builtin_bswap16(value);
  if constexpr (sizeof(T) == 4) return __builtin_bswap32(value);
  if constexpr (sizeof(T) == 8) return __builtin_bswap64(value);
  return value;
}

/// Reads an unsigned integer of `sizeof(T)` bytes from the front of `bytes`, which must hold at least that many.
template <std::unsigned_integral T>
T load(std::span<const std::byte> bytes, Endian endian) {
  T value = 0;
  // One unaligned load, not a loop: relocation tables of millions of entries come through here.
  std::memcpy(&value, bytes.data(), sizeof(T));
  return endian == host_endian ? value : swapped(value);
}

/// Writes `value` to the front of `bytes`, which must hold at least `sizeof(T)`.
template <std::unsigned_integral T>
void store(std::span<std::byte> bytes, T value, Endian endian) {
  const T in_order = endian == host_endian ? value : swapped(value);
  std::memcpy(bytes.data(), &in_order, sizeof(T));
}

}  // namespace sframe_gen
