#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>

namespace sframe_gen {

/// Byte order of the file, which need not be the host's.
enum class Endian : std::uint8_t { Little, Big };

/// Reads an unsigned integer of `sizeof(T)` bytes from the front of `bytes`, which must hold at least that many.
template <std::unsigned_integral T>
constexpr T load(std::span<const std::byte> bytes, Endian endian) {
  T value = 0;
  for (std::size_t i = 0; i < sizeof(T); ++i) {
    const std::size_t shift = 8 * (endian == Endian::Little ? i : sizeof(T) - 1 - i);
    value = static_cast<T>(value | static_cast<T>(static_cast<T>(std::to_integer<std::uint8_t>(bytes[i])) << shift));
  }
  return value;
}

/// Writes `value` to the front of `bytes`, which must hold at least `sizeof(T)`.
template <std::unsigned_integral T>
constexpr void store(std::span<std::byte> bytes, T value, Endian endian) {
  for (std::size_t i = 0; i < sizeof(T); ++i) {
    const std::size_t shift = 8 * (endian == Endian::Little ? i : sizeof(T) - 1 - i);
    bytes[i] = static_cast<std::byte>((value >> shift) & 0xff);
  }
}

}  // namespace sframe_gen
