#include "sframe/fde_decoder.hpp"

#include <string>

#include "sframe/format.hpp"
#include "sframe/recovery_decoder.hpp"
#include "sframe/remark.hpp"
#include "support/text.hpp"

namespace sframe_gen::sframe {
namespace {

/// Reads what all versions have in the info byte.
FreAddressWidth decode_info(FdeInfo info, std::uint64_t offset, const ByteReader& reader, const DecodingRules& rules,
                            Fde& fde) {
  const unsigned first = rules.version.first_fre_type;
  if (info.fre_type() < first || info.fre_type() - first > static_cast<unsigned>(FreAddressWidth::Four)) {
    reader.fail(offset, "row type is " + std::to_string(info.fre_type()) + ", which is not defined");
  }
  if ((info.byte() & rules.version.reserved_fde_info) != 0) {
    remark(rules.strictness, reader, offset, "function info " + hex(info.byte()) + " has reserved bits set");
  }
  if (info.b_key() && !rules.abi.signs_return_address) {
    reader.fail(offset, "function info " + hex(info.byte()) + " names a signing key, but the ABI has none");
  }
  fde.pc_type = info.pc_type();
  fde.b_key = info.b_key();
  return static_cast<FreAddressWidth>(info.fre_type() - first);
}

void check_info2(FdeInfo2 info2, std::uint64_t offset, const ByteReader& reader, const Strictness& strictness) {
  if (info2.reserved_bits_set())
    remark(strictness, reader, offset, "function info 2 " + hex(info2.byte()) + " has reserved bits set");
  if (info2.fde_type() > static_cast<unsigned>(FdeType::Flexible)) {
    reader.fail(offset, "descriptor type is " + std::to_string(info2.fde_type()) + ", which is not defined");
  }
}

void check_repeat_size(const Fde& fde, std::uint64_t offset, const ByteReader& reader) {
  if (fde.pc_type == PcType::Mask && fde.repeat_size == 0) {
    reader.fail(offset, "repeat size of a MASK function is 0");
  }
  if (fde.pc_type == PcType::Increment && fde.repeat_size != 0) {
    reader.fail(offset, "repeat size is " + hex(fde.repeat_size) + ", but the function does not repeat");
  }
}

std::uint32_t read_fre_start(ByteReader& reader, FreAddressWidth width) {
  switch (width) {
    case FreAddressWidth::One:
      return reader.u8("row start");
    case FreAddressWidth::Two:
      return reader.u16("row start");
    case FreAddressWidth::Four:
      return reader.u32("row start");
  }
  return 0;
}

void check_fre_start(std::uint32_t start, const Fde& fde, Strictness strictness, std::uint64_t offset,
                     const ByteReader& reader) {
  if (!fde.fres.empty() && start <= fde.fres.back().pc_offset) {
    reader.fail(offset, "row starts at " + hex(start) + ", not after the row before it, which starts at " +
                            hex(fde.fres.back().pc_offset));
  }
  if (start > fde.size || (start == fde.size && !strictness.allow_fre_at_end)) {
    reader.fail(offset, "row starts at " + hex(start) + ", but the function's size is " + hex(fde.size));
  }
  if (fde.repeat_size != 0 && start >= fde.repeat_size) {
    reader.fail(offset, "row starts at " + hex(start) + ", but the repeated block's size is " + hex(fde.repeat_size));
  }
}

FreInfo decode_fre_info(ByteReader& reader, const DecodingRules& rules) {
  const std::uint64_t offset = reader.offset();
  const FreInfo info(reader.u8("row info"));
  if (info.word_width() > static_cast<unsigned>(DataWordWidth::Four)) {
    reader.fail(offset, "size of data words is " + std::to_string(info.word_width()) + ", which is not defined");
  }
  if (info.mangled_ra() && !rules.version.has_mangled_ra) {
    reader.fail(offset, "row info " + hex(info.byte()) + " has the reserved bit set");
  }
  if (info.mangled_ra() && !rules.abi.signs_return_address) {
    reader.fail(offset, "row info " + hex(info.byte()) + " says that the RA is signed, but the ABI signs none");
  }
  // Version 2 gave it a meaning by its second erratum; before it, the CFA offset is always there.
  if (info.word_count() == 0 && !rules.version.has_repeat_size) {
    reader.fail(offset, "row has no data words, which " + std::string(rules.version.name) + " does not define");
  }
  return info;
}

}  // namespace

FreShape decode_attribute(ByteReader& reader, const DecodingRules& rules, Fde& fde) {
  const std::uint64_t start = reader.offset();
  const std::uint16_t fre_count = reader.u16("number of rows of the function");
  const FdeInfo info(reader.u8("function info"));
  const FdeInfo2 info2(reader.u8("function info 2"));
  fde.repeat_size = reader.u8("repeat size");

  const FreAddressWidth width = decode_info(info, start + fde_attribute::info_at, reader, rules, fde);
  check_info2(info2, start + fde_attribute::info2_at, reader, rules.strictness);
  fde.signal_frame = info.signal_frame();
  fde.type = static_cast<FdeType>(info2.fde_type());
  check_repeat_size(fde, start + fde_attribute::repeat_size_at, reader);
  return {fre_count, width};
}

FreShape decode_descriptor_tail(ByteReader& reader, std::uint32_t fre_count, const DecodingRules& rules, Fde& fde) {
  const std::uint64_t start = reader.offset();
  const FdeInfo info(reader.u8("function info"));
  const FreAddressWidth width = decode_info(info, start, reader, rules, fde);
  if (!rules.version.has_repeat_size) return {fre_count, width};
  fde.repeat_size = reader.u8("repeat size");
  // GNU ld writes the size of a PLT's entries for its head too, which does not repeat (seen with 2.44).
  if (fde.pc_type == PcType::Increment) fde.repeat_size = 0;
  check_repeat_size(fde, start + 1, reader);
  const std::uint64_t padding_at = reader.offset();
  if (reader.u16("padding") != 0)
    remark(rules.strictness, reader, padding_at, "padding of the function descriptor is not zero");
  return {fre_count, width};
}

void decode_fres(ByteReader& reader, const FreShape& shape, const DecodingRules& rules, Fde& fde) {
  const std::uint64_t least_bytes = std::uint64_t{shape.fre_count} * (bytes_of(shape.fre_address_width) + 1U);
  if (least_bytes > reader.left()) {
    reader.fail(reader.offset(), count_of(shape.fre_count, "row") + " need at least " + count_of(least_bytes, "byte") +
                                     ", but only " + std::to_string(reader.left()) + " are left");
  }
  fde.fres.reserve(shape.fre_count);
  for (std::uint32_t i = 0; i < shape.fre_count; ++i) {
    const std::uint64_t offset = reader.offset();
    const std::uint32_t start = read_fre_start(reader, shape.fre_address_width);
    check_fre_start(start, fde, rules.strictness, offset, reader);
    const FreInfo info = decode_fre_info(reader, rules);
    fde.fres.push_back({start, decode_recovery(reader, info, fde.type, rules)});
  }
}

}  // namespace sframe_gen::sframe
