#pragma once

#include <cstddef>
#include <cstring>
#include <span>

namespace sframe_gen {

/// As std::ranges::equal, which takes std::byte for no number and goes through them one by one: a tenth of what
/// libc.so.6 took but for its rows.
inline bool equal_bytes(std::span<const std::byte> a, std::span<const std::byte> b) {
  return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size()) == 0);
}

}  // namespace sframe_gen
