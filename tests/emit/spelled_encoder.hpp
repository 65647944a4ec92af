#pragma once

#include <utility>

#include "emit/compact/rows.hpp"
#include "emit/encoded_rules.hpp"
#include "emit/encoder.hpp"

namespace sframe_gen::test {

/// Writes one row, by itself: what emit::put_rows is compared with.
inline void append_row(std::uint32_t pc_offset, const emit::RowTail& tail, sframe::FreAddressWidth width,
                       ByteWriter& writer) {
  switch (width) {
    case sframe::FreAddressWidth::One:
      writer.u8(static_cast<std::uint8_t>(pc_offset));
      break;
    case sframe::FreAddressWidth::Two:
      writer.u16(static_cast<std::uint16_t>(pc_offset));
      break;
    case sframe::FreAddressWidth::Four:
      writer.u32(pc_offset);
      break;
  }
  writer.append_bytes(tail.bytes());
}

/// An encoder of functions with their rules in place of numbers.
class SpelledEncoder : public emit::SectionEncoder {
 public:
  explicit SpelledEncoder(const emit::Dialect& dialect) : SectionEncoder(dialect), encoded_rules_(dialect) {}
  void add(const sframe::Fde& fde) {
    SectionEncoder::add(emit::with_encoded_rules(fde, encoded_rules_), encoded_rules_);
  }

 private:
  emit::EncodedRules encoded_rules_;
};

/// A stream of them. Streams that are joined share one table.
class SpelledStream : public emit::compact::RowStream {
 public:
  SpelledStream(emit::EncodedRules& encoded_rules, emit::IsPadding is_padding)
      : RowStream(encoded_rules, std::move(is_padding)), encoded_rules_(encoded_rules) {}
  void add(const sframe::Fde& fde) { RowStream::add(emit::with_encoded_rules(fde, encoded_rules_)); }

 private:
  emit::EncodedRules& encoded_rules_;
};

}  // namespace sframe_gen::test
