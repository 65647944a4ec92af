#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "support/endian.hpp"
#include "unwind/view_records.hpp"

namespace sframe_gen::sframe {

/// `swap`: the section's byte order is not the host's.
template <std::unsigned_integral T, bool swap>
T read_field(const std::byte* at) {
  T value = 0;
  std::memcpy(&value, at, sizeof(T));
  return swap ? swapped(value) : value;
}

inline std::uint64_t sign_extended(std::uint32_t value) {
  return static_cast<std::uint64_t>(std::int64_t{static_cast<std::int32_t>(value)});
}

/// The words of one row, front to back; they lie in the section.
template <bool swap>
class Words {
 public:
  explicit Words(const ViewFre& fre) : at_(fre.words), left_(fre.info.word_count()), width_(fre.info.word_width()) {}

  unsigned left() const { return left_; }
  std::uint32_t next_unsigned() {
    const std::uint32_t four = next_four();
    return is_little ? four >> unused_bits() : four << unused_bits() >> unused_bits();
  }
  std::int32_t next_signed() {
    const std::uint32_t four = next_four();
    return static_cast<std::int32_t>(is_little ? four : four << unused_bits()) >> unused_bits();
  }

 private:
  static constexpr bool is_little = (host_endian == Endian::Little) != swap;

  unsigned unused_bits() const { return 32 - (8U << width_); }
  /// The four bytes that the next word ends: no width is guessed wrong. A header is in front of all words.
  std::uint32_t next_four() {
    --left_;
    at_ += 1U << width_;
    return read_field<std::uint32_t, swap>(at_ - sizeof(std::uint32_t));
  }

  const std::byte* at_;
  unsigned left_;
  unsigned width_;
};

}  // namespace sframe_gen::sframe
