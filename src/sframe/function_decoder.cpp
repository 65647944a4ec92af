#include "sframe/function_decoder.hpp"

#include <string>

#include "sframe/format.hpp"
#include "sframe/recovery_decoder.hpp"
#include "support/text.hpp"

namespace sframe_gen::sframe {
namespace {

/// Reads what all versions have in the info byte.
RowAddressWidth decode_info(FunctionInfo info, std::uint64_t offset, const ByteReader& reader,
                            const DecodingRules& rules, Function& function) {
  const unsigned first = rules.version.first_row_type;
  if (info.row_type() < first || info.row_type() - first > static_cast<unsigned>(RowAddressWidth::Four)) {
    reader.fail(offset, "row type is " + std::to_string(info.row_type()) + ", which is not defined");
  }
  if ((info.byte() & rules.version.reserved_function_info) != 0) {
    reader.fail(offset, "function info " + hex(info.byte()) + " has reserved bits set");
  }
  if (info.b_key() && !rules.abi.signs_return_address) {
    reader.fail(offset, "function info " + hex(info.byte()) + " names a signing key, but the ABI has none");
  }
  function.pc_type = info.pc_type();
  function.b_key = info.b_key();
  return static_cast<RowAddressWidth>(info.row_type() - first);
}

void check_info2(FunctionInfo2 info2, std::uint64_t offset, const ByteReader& reader) {
  if (info2.reserved_bits_set()) reader.fail(offset, "function info 2 " + hex(info2.byte()) + " has reserved bits set");
  if (info2.descriptor_type() > static_cast<unsigned>(DescriptorType::Flexible)) {
    reader.fail(offset, "descriptor type is " + std::to_string(info2.descriptor_type()) + ", which is not defined");
  }
}

void check_repeat_size(const Function& function, std::uint64_t offset, const ByteReader& reader) {
  if (function.pc_type == PcType::Mask && function.repeat_size == 0) {
    reader.fail(offset, "repeat size of a MASK function is 0");
  }
  if (function.pc_type == PcType::Increment && function.repeat_size != 0) {
    reader.fail(offset, "repeat size is " + hex(function.repeat_size) + ", but the function does not repeat");
  }
}

std::uint32_t read_row_start(ByteReader& reader, RowAddressWidth width) {
  switch (width) {
    case RowAddressWidth::One:
      return reader.u8("row start");
    case RowAddressWidth::Two:
      return reader.u16("row start");
    case RowAddressWidth::Four:
      return reader.u32("row start");
  }
  return 0;
}

void check_row_start(std::uint32_t start, const Function& function, Strictness strictness, std::uint64_t offset,
                     const ByteReader& reader) {
  if (!function.rows.empty() && start <= function.rows.back().pc_offset) {
    reader.fail(offset, "row starts at " + hex(start) + ", not after the row before it, which starts at " +
                            hex(function.rows.back().pc_offset));
  }
  if (start > function.size || (start == function.size && !strictness.allow_row_at_end)) {
    reader.fail(offset, "row starts at " + hex(start) + ", but the function's size is " + hex(function.size));
  }
  if (function.repeat_size != 0 && start >= function.repeat_size) {
    reader.fail(offset,
                "row starts at " + hex(start) + ", but the repeated block's size is " + hex(function.repeat_size));
  }
}

RowInfo decode_row_info(ByteReader& reader, const DecodingRules& rules) {
  const std::uint64_t offset = reader.offset();
  const RowInfo info(reader.u8("row info"));
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

RowShape decode_attribute(ByteReader& reader, const DecodingRules& rules, Function& function) {
  const std::uint64_t start = reader.offset();
  const std::uint16_t row_count = reader.u16("number of rows of the function");
  const FunctionInfo info(reader.u8("function info"));
  const FunctionInfo2 info2(reader.u8("function info 2"));
  function.repeat_size = reader.u8("repeat size");

  const RowAddressWidth width = decode_info(info, start + function_attribute::info_at, reader, rules, function);
  check_info2(info2, start + function_attribute::info2_at, reader);
  function.signal_frame = info.signal_frame();
  function.type = static_cast<DescriptorType>(info2.descriptor_type());
  check_repeat_size(function, start + function_attribute::repeat_size_at, reader);
  return {row_count, width};
}

RowShape decode_descriptor_tail(ByteReader& reader, std::uint32_t row_count, const DecodingRules& rules,
                                Function& function) {
  const std::uint64_t start = reader.offset();
  const FunctionInfo info(reader.u8("function info"));
  const RowAddressWidth width = decode_info(info, start, reader, rules, function);
  if (!rules.version.has_repeat_size) return {row_count, width};
  function.repeat_size = reader.u8("repeat size");
  // GNU ld writes the size of a PLT's entries for its head too, which does not repeat (seen with 2.44).
  if (function.pc_type == PcType::Increment) function.repeat_size = 0;
  check_repeat_size(function, start + 1, reader);
  const std::uint64_t padding_at = reader.offset();
  if (reader.u16("padding") != 0) reader.fail(padding_at, "padding of the function descriptor is not zero");
  return {row_count, width};
}

void decode_rows(ByteReader& reader, const RowShape& shape, const DecodingRules& rules, Function& function) {
  const std::uint64_t least_bytes = std::uint64_t{shape.row_count} * (bytes_of(shape.row_address_width) + 1U);
  if (least_bytes > reader.left()) {
    reader.fail(reader.offset(), count_of(shape.row_count, "row") + " need at least " + count_of(least_bytes, "byte") +
                                     ", but only " + std::to_string(reader.left()) + " are left");
  }
  function.rows.reserve(shape.row_count);
  for (std::uint32_t i = 0; i < shape.row_count; ++i) {
    const std::uint64_t offset = reader.offset();
    const std::uint32_t start = read_row_start(reader, shape.row_address_width);
    check_row_start(start, function, rules.strictness, offset, reader);
    const RowInfo info = decode_row_info(reader, rules);
    function.rows.push_back({start, decode_recovery(reader, info, function.type, rules)});
  }
}

}  // namespace sframe_gen::sframe
