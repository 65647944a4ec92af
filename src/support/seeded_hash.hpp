#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <unordered_map>

#include "support/hash.hpp"

namespace sframe_gen {

/// For tables by what a file says: libstdc++'s own hash is the same in every run, of numbers they themselves, so that a
/// file could choose keys that all meet.
struct SeededHash {
  std::uint64_t seed = seed_of_run();

  std::size_t operator()(std::string_view text) const { return hash_of_bytes(std::as_bytes(std::span(text)), seed); }
  std::size_t operator()(std::integral auto number) const { return mixed(static_cast<std::uint64_t>(number) ^ seed); }
};

template <typename Key, typename Value>
using SeededMap = std::unordered_map<Key, Value, SeededHash>;

}  // namespace sframe_gen
