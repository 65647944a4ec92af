#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "sframe_gen/error.hpp"
#include "support/endian.hpp"

namespace sframe_gen {

/// As std::ranges::equal, which takes std::byte for no number and goes through them one by one: a tenth of what
/// libc.so.6 took but for its rows.
inline bool equal_bytes(std::span<const std::byte> a, std::span<const std::byte> b) {
  return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size()) == 0);
}

/// Reads a section front to back. Every read is checked; one that does not fit throws MalformedInput, which names
/// what was wanted ("number of functions needs 4 bytes, but only 2 are left").
class ByteReader {
 public:
  /// `origin` must outlive the reader; `base_offset` is the place of bytes[0] in the section, for messages.
  ByteReader(std::span<const std::byte> bytes, Endian endian, const InputOrigin& origin, std::uint64_t base_offset = 0)
      : bytes_(bytes), origin_(&origin), base_offset_(base_offset), endian_(endian) {}
  ByteReader(std::span<const std::byte>, Endian, InputOrigin&&, std::uint64_t = 0) = delete;

  std::uint8_t u8(const char* what) { return read<std::uint8_t>(what); }
  std::uint16_t u16(const char* what) { return read<std::uint16_t>(what); }
  std::uint32_t u32(const char* what) { return read<std::uint32_t>(what); }
  std::uint64_t u64(const char* what) { return read<std::uint64_t>(what); }
  std::int8_t i8(const char* what) { return static_cast<std::int8_t>(u8(what)); }
  std::int16_t i16(const char* what) { return static_cast<std::int16_t>(u16(what)); }
  std::int32_t i32(const char* what) { return static_cast<std::int32_t>(u32(what)); }
  std::int64_t i64(const char* what) { return static_cast<std::int64_t>(u64(what)); }

  /// DWARF 5, section 7.6. Values beyond 64 bits are malformed.
  std::uint64_t uleb128(const char* what) {
    // Nearly all of call frame information's numbers are one byte.
    if (position_ < bytes_.size()) {
      const auto byte = std::to_integer<std::uint8_t>(bytes_[position_]);
      if (byte < 0x80) {
        ++position_;
        return byte;
      }
    }
    return long_uleb128(what);
  }
  std::int64_t sleb128(const char* what);

  std::span<const std::byte> take(std::uint64_t size, const char* what) {
    need(size, what);
    const auto taken = bytes_.subspan(position_, size);
    position_ += size;
    return taken;
  }

  /// What is still to be read, and past some of it. Not checked: for bytes by the million.
  std::span<const std::byte> rest() const { return bytes_.subspan(position_); }
  void skip(std::size_t size) { position_ += size; }

  bool at_end() const { return position_ == bytes_.size(); }
  std::uint64_t left() const { return bytes_.size() - position_; }
  /// Offset in the section of the next byte.
  std::uint64_t offset() const { return base_offset_ + position_; }
  Endian endian() const { return endian_; }
  const InputOrigin& origin() const { return *origin_; }

  [[noreturn]] void fail(std::uint64_t offset, const std::string& what) const {
    throw MalformedInput(*origin_, offset, what);
  }
  [[noreturn]] void fail(const std::string& what) const { fail(offset(), what); }

 private:
  template <std::unsigned_integral T>
  T read(const char* what) {
    need(sizeof(T), what);
    const T value = load<T>(bytes_.subspan(position_, sizeof(T)), endian_);
    position_ += sizeof(T);
    return value;
  }

  std::uint64_t long_uleb128(const char* what);

  void need(std::uint64_t size, const char* what) const {
    if (size > left()) fail_short(size, what);
  }
  [[noreturn]] void fail_short(std::uint64_t size, const char* what) const;

  std::span<const std::byte> bytes_;
  const InputOrigin* origin_;
  std::uint64_t base_offset_;
  std::size_t position_ = 0;
  Endian endian_;
};

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
  /// Removes all bytes. Their memory stays.
  void clear() { size_ = 0; }

  std::size_t size() const { return size_; }
  std::span<const std::byte> bytes() const { return std::span(bytes_).first(size_); }
  std::vector<std::byte> release() {
    bytes_.resize(std::exchange(size_, 0));
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
