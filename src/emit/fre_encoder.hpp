#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "emit/dialect.hpp"
#include "sframe/format.hpp"
#include "sframe_gen/section.hpp"
#include "support/bytes.hpp"

namespace sframe_gen::emit {

/// A row without its start: the info byte and the data words.
class RowTail {
 public:
  static constexpr std::size_t longest = 1 + 6 * 4;

  /// The low `width` bytes (1, 2 or 4) of `value`.
  void add(std::uint32_t value, unsigned width, Endian endian);

  std::span<const std::byte> bytes() const { return std::span(bytes_).first(size_); }
  std::size_t size() const { return size_; }
  /// As long as any, whatever the size.
  const std::array<std::byte, longest>& padded() const { return bytes_; }
  friend bool operator==(const RowTail&, const RowTail&) = default;

 private:
  std::array<std::byte, longest> bytes_{};
  std::uint8_t size_ = 0;
};

/// The info byte, and data words of the narrowest width that holds them all. Without a value: RA undefined.
RowTail encode_tail(const std::optional<sframe::RecoveryRules>& recovery, sframe::FdeType type, const Dialect& dialect);

/// GNU as takes the width from the function's size, never from the largest row start: 255 → 1, 256 → 2, 65536 → 4.
sframe::FreAddressWidth fre_address_width(std::uint32_t function_size);

/// Writes one row.
void encode_fre(ByteWriter& writer, std::uint32_t pc_offset, const RowTail& tail, sframe::FreAddressWidth width);

}  // namespace sframe_gen::emit
