#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "support/endian.hpp"

namespace sframe_gen {

/// Appends integers of a fixed byte order to a buffer.
class ByteWriter {
 public:
  explicit ByteWriter(Endian endian) : endian_(endian) {}

  void u8(std::uint8_t value) { bytes_.push_back(static_cast<std::byte>(value)); }
  void u16(std::uint16_t value) { append(value); }
  void u32(std::uint32_t value) { append(value); }
  void u64(std::uint64_t value) { append(value); }

  void append_bytes(std::span<const std::byte> bytes) { bytes_.insert(bytes_.end(), bytes.begin(), bytes.end()); }
  /// What stands at `place` already.
  void overwrite(std::size_t place, std::span<const std::byte> bytes) {
    std::copy(bytes.begin(), bytes.end(), bytes_.begin() + static_cast<std::ptrdiff_t>(place));
  }
  void reserve(std::size_t size) { bytes_.reserve(size); }

  std::size_t size() const { return bytes_.size(); }
  const std::vector<std::byte>& bytes() const { return bytes_; }
  std::vector<std::byte> release() { return std::move(bytes_); }

 private:
  template <std::unsigned_integral T>
  void append(T value) {
    const std::size_t at = bytes_.size();
    bytes_.resize(at + sizeof(T));
    store(std::span(bytes_).subspan(at), value, endian_);
  }

  std::vector<std::byte> bytes_;
  Endian endian_;
};

}  // namespace sframe_gen
