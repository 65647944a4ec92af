#pragma once

#include <utility>

#include "emit/compact/rows.hpp"
#include "emit/encoder.hpp"
#include "emit/forms.hpp"

namespace sframe_gen::test {

/// Writes one row, by itself: what emit::append_rows is compared with.
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
  explicit SpelledEncoder(const emit::Dialect& dialect) : SectionEncoder(dialect), forms_(dialect) {}
  void add(const sframe::Fde& fde) { SectionEncoder::add(emit::with_forms(fde, forms_), forms_); }

 private:
  emit::Forms forms_;
};

/// A stream of them. Streams that are joined share one table.
class SpelledStream : public emit::compact::RowStream {
 public:
  SpelledStream(emit::Forms& forms, emit::compact::IsPadding is_padding)
      : RowStream(forms, std::move(is_padding)), forms_(forms) {}
  void add(const sframe::Fde& fde) { RowStream::add(emit::with_forms(fde, forms_)); }

 private:
  emit::Forms& forms_;
};

}  // namespace sframe_gen::test
