#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <iterator>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace sframe_gen {

/// Bytes by the megabyte that follow each other. They are written once, to chunks that no one clears or moves, and go
/// to a file from there: what is appended costs the pages that it takes, and no others.
class ByteChunks {
 public:
  /// Appends what `fill` writes to a place with room for `most` bytes, whose end it returns. These bytes are in one
  /// chunk.
  template <typename Fill>
  void append_filled(std::size_t most, Fill fill) {
    if (chunks_.empty() || chunks_.back().room < most) add_chunk(most);
    Chunk& chunk = chunks_.back();
    std::byte* const place = chunk.bytes.get() + chunk.size;
    const auto added = static_cast<std::size_t>(fill(place) - place);
    chunk.size += added;
    chunk.room -= added;
    size_ += added;
  }

  /// Returns where the bytes are from now on.
  std::span<const std::byte> append(std::span<const std::byte> bytes) {
    if (bytes.empty()) return {};
    const std::byte* begin = nullptr;
    append_filled(bytes.size(), [&](std::byte* place) {
      begin = static_cast<const std::byte*>(std::memcpy(place, bytes.data(), bytes.size()));
      return place + bytes.size();
    });
    return {begin, bytes.size()};
  }
  void append(ByteChunks&& other) {
    std::move(other.chunks_.begin(), other.chunks_.end(), std::back_inserter(chunks_));
    other.chunks_.clear();
    size_ += std::exchange(other.size_, 0);
  }

  std::size_t size() const { return size_; }
  /// Calls back with the bytes of each chunk, which stay where they are as long as this object, or what it goes to.
  template <typename Visit>
  void for_each_chunk(Visit visit) const {
    for (const Chunk& chunk : chunks_) visit(std::span<const std::byte>(chunk.bytes.get(), chunk.size));
  }

 private:
  /// Small, as the last one of each part of a file stays half empty.
  static constexpr std::size_t usual_size = std::size_t{1} << 15;

  struct Chunk {
    std::unique_ptr<std::byte[]> bytes;
    std::size_t size, room;
  };

  void add_chunk(std::size_t least) {
    const std::size_t size = std::max(least, usual_size);
    chunks_.push_back({std::make_unique_for_overwrite<std::byte[]>(size), 0, size});
  }

  std::vector<Chunk> chunks_;
  std::size_t size_ = 0;
};

inline void append_to(std::vector<std::byte>& bytes, const ByteChunks& chunks) {
  chunks.for_each_chunk(
      [&](std::span<const std::byte> chunk) { bytes.insert(bytes.end(), chunk.begin(), chunk.end()); });
}

/// Returns a copy in one piece. For a large section it takes as long as to write the bytes to a file.
inline std::vector<std::byte> joined(const ByteChunks& chunks) {
  std::vector<std::byte> bytes;
  bytes.reserve(chunks.size());
  append_to(bytes, chunks);
  return bytes;
}

}  // namespace sframe_gen
