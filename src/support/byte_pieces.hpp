#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace sframe_gen {

/// Bytes that follow each other. To put those of a large section together takes as long as to write them to a file.
using BytePieces = std::vector<std::vector<std::byte>>;

inline std::uint64_t size_of(const BytePieces& pieces) {
  std::uint64_t size = 0;
  for (const std::vector<std::byte>& piece : pieces) size += piece.size();
  return size;
}

inline std::vector<std::byte> joined(const BytePieces& pieces) {
  std::vector<std::byte> bytes;
  bytes.reserve(size_of(pieces));
  for (const std::vector<std::byte>& piece : pieces) bytes.insert(bytes.end(), piece.begin(), piece.end());
  return bytes;
}

}  // namespace sframe_gen
