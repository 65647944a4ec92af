#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <utility>
#include <vector>

#include "support/endian.hpp"

namespace sframe_gen {

/// Appends integers of a fixed byte order to a buffer.
class ByteWriter {
 public:
  explicit ByteWriter(Endian endian) : endian_(endian) {}

  void u8(std::uint8_t value) { append(value); }
  void u16(std::uint16_t value) { append(value); }
  void u32(std::uint32_t value) { append(value); }
  void u64(std::uint64_t value) { append(value); }

  void append_bytes(std::span<const std::byte> bytes) {
    if (!bytes.empty()) std::memcpy(extend(bytes.size()), bytes.data(), bytes.size());
  }
  /// Appends what `fill` writes to a place with room for `most` bytes, whose end it returns. For pieces by the million:
  /// room is made once for many.
  template <typename Fill>
  void append_filled(std::size_t most, Fill fill) {
    std::byte* const place = extend(most);
    size_ -= most - static_cast<std::size_t>(fill(place) - place);
  }
  void reserve(std::size_t size) { bytes_.reserve(size); }

  std::size_t size() const { return size_; }
  std::span<const std::byte> bytes() const { return std::span(bytes_).first(size_); }
  std::vector<std::byte> release() {
    bytes_.resize(size_);
    return std::move(bytes_);
  }

 private:
  template <std::unsigned_integral T>
  void append(T value) {
    store(std::span(extend(sizeof(T)), sizeof(T)), value, endian_);
  }

  std::byte* extend(std::size_t size) {
    if (bytes_.size() - size_ < size) grow(size);
    std::byte* const place = bytes_.data() + size_;
    size_ += size;
    return place;
  }
  /// A step at a time: memory that is reserved is touched when it is needed, and twice while it is in the processor's
  /// cache.
  void grow(std::size_t size) {
    constexpr std::size_t least = 64, step = std::size_t{1} << 16;
    if (bytes_.capacity() - size_ < size) bytes_.reserve(std::max({2 * size_, size_ + size, least}));
    bytes_.resize(std::min(bytes_.capacity(), size_ + std::max(size, step)));
  }

  std::vector<std::byte> bytes_;  ///< of which `size_` count
  std::size_t size_ = 0;
  Endian endian_;
};

}  // namespace sframe_gen
