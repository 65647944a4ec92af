#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace sframe_gen {

/// Spreads `value` over all bits (the finalizer of MurmurHash3). Equal on all hosts, so that equal input gives equal
/// bytes everywhere.
constexpr std::uint64_t mixed(std::uint64_t value) {
  value ^= value >> 33U;
  value *= 0xff51afd7ed558ccdU;
  value ^= value >> 33U;
  value *= 0xc4ceb9fe1a85ec53U;
  return value ^ value >> 33U;
}

/// The hash of what `hash` stands for with `value` behind it.
constexpr std::uint64_t chained(std::uint64_t hash, std::uint64_t value) {
  return mixed(hash * 0x9e3779b97f4a7c15U + value);
}

/// A value that is another in each run, and that no file can foresee: to begin hashes with that only find things, so
/// that nobody can make a file whose things all have the same. What output depends on begins with a constant.
std::uint64_t seed_of_run();

std::uint64_t hash_of_bytes(std::span<const std::byte> bytes, std::uint64_t seed);

}  // namespace sframe_gen
