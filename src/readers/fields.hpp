#pragma once

#include <cstdint>
#include <span>

#include "support/endian.hpp"

namespace sframe_gen::readers {

/// Fields of a section by their offsets. Whoever asks has made sure that they lie in it.
class Fields {
 public:
  Fields(std::span<const std::byte> bytes, Endian endian) : bytes_(bytes), endian_(endian) {}

  std::uint8_t u8(std::uint64_t at) const { return std::to_integer<std::uint8_t>(bytes_[at]); }
  std::int8_t i8(std::uint64_t at) const { return static_cast<std::int8_t>(u8(at)); }
  std::uint16_t u16(std::uint64_t at) const { return load<std::uint16_t>(bytes_.subspan(at, 2), endian_); }
  std::uint32_t u32(std::uint64_t at) const { return load<std::uint32_t>(bytes_.subspan(at, 4), endian_); }
  std::uint64_t u64(std::uint64_t at) const { return load<std::uint64_t>(bytes_.subspan(at, 8), endian_); }
  std::uint64_t size() const { return bytes_.size(); }
  std::span<const std::byte> bytes() const { return bytes_; }
  /// An unsigned number of 1, 2 or 4 bytes.
  std::uint32_t number(std::uint64_t at, unsigned width) const {
    return width == 1 ? u8(at) : width == 2 ? u16(at) : u32(at);
  }

 private:
  std::span<const std::byte> bytes_;
  Endian endian_;
};

}  // namespace sframe_gen::readers
