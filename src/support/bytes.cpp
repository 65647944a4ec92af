#include "support/bytes.hpp"

#include "support/text.hpp"

namespace sframe_gen {

void ByteReader::fail_short(std::uint64_t size, const char* what) const {
  fail(std::string(what) + " needs " + count_of(size, "byte") + ", but only " + std::to_string(left()) +
       (left() == 1 ? " is" : " are") + " left");
}

std::uint64_t ByteReader::long_uleb128(const char* what) {
  const std::uint64_t start = offset();
  std::uint64_t value = 0;
  for (unsigned shift = 0;; shift += 7) {
    const std::uint8_t byte = u8(what);
    const std::uint64_t bits = byte & 0x7fU;
    if (shift < 64) value |= bits << shift;
    // Padding with zero groups is legal; bits that would fall off the top are not.
    const bool lost = shift >= 64 ? bits != 0 : (bits << shift) >> shift != bits;
    if (lost) fail(start, std::string(what) + " does not fit in 64 bits");
    if ((byte & 0x80U) == 0) return value;
  }
}

std::int64_t ByteReader::sleb128(const char* what) {
  const std::uint64_t start = offset();
  std::uint64_t value = 0;
  for (unsigned shift = 0;; shift += 7) {
    const std::uint8_t byte = u8(what);
    const std::uint64_t bits = byte & 0x7fU;
    if (shift < 64) value |= bits << shift;
    const bool negative = (byte & 0x40U) != 0;
    // From bit 63 on a group may only repeat the sign.
    if (shift >= 63 && bits != ((value >> 63U) != 0 ? 0x7fU : 0U)) {
      fail(start, std::string(what) + " does not fit in 64 bits");
    }
    if ((byte & 0x80U) == 0) {
      if (negative && shift + 7 < 64) value |= ~std::uint64_t{0} << (shift + 7);
      return static_cast<std::int64_t>(value);
    }
  }
}

}  // namespace sframe_gen
