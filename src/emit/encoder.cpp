#include "emit/encoder.hpp"

#include <cassert>
#include <limits>
#include <stdexcept>

#include "emit/row_encoder.hpp"

namespace sframe_gen::emit {

SectionEncoder::SectionEncoder(const sframe::AbiTraits& traits) : traits_(traits), rows_(traits.endian) {}

void SectionEncoder::add(const sframe::Function& function) {
  assert(!function.rows.empty() && function.rows.size() <= std::numeric_limits<std::uint16_t>::max());
  assert(index_.empty() || index_.back().start + index_.back().size <= function.start);
  check_limits();
  index_.push_back({function.start, function.size, static_cast<std::uint32_t>(rows_.size())});
  const sframe::RowAddressWidth width = row_address_width(function.size);
  rows_.u16(static_cast<std::uint16_t>(function.rows.size()));
  rows_.u8(sframe::FunctionInfo(width, function.pc_type, function.b_key, function.signal_frame).byte());
  rows_.u8(static_cast<std::uint8_t>(function.type));
  rows_.u8(function.repeat_size);
  for (const sframe::Row& row : function.rows) encode_row(rows_, row, width, function.type, traits_);
  row_count_ += function.rows.size();
}

void SectionEncoder::append(const SectionEncoder& other) {
  check_limits();
  const std::uint64_t shift = rows_.size();
  rows_.append_bytes(other.rows_.bytes());
  check_limits();
  index_.reserve(index_.size() + other.index_.size());
  for (const IndexEntry& entry : other.index_) {
    index_.push_back({entry.start, entry.size, static_cast<std::uint32_t>(shift + entry.attribute_offset)});
  }
  row_count_ += other.row_count_;
}

/// Offsets into the rows and all counts of the header have 32 bits.
void SectionEncoder::check_limits() const {
  if (rows_.size() > std::numeric_limits<std::uint32_t>::max() ||
      index_.size() >= std::numeric_limits<std::uint32_t>::max() / sframe::function_index_size) {
    throw std::length_error("more rows than the 32-bit offsets of an SFrame section can reach");
  }
}

std::uint64_t SectionEncoder::encoded_size() const {
  return sframe::header::size + index_.size() * sframe::function_index_size + rows_.size();
}

std::vector<std::byte> SectionEncoder::encode(std::uint64_t section_address) const {
  ByteWriter writer(traits_.endian);
  writer.reserve(encoded_size());
  const auto index_bytes = static_cast<std::uint32_t>(index_.size() * sframe::function_index_size);
  writer.u16(sframe::magic);
  writer.u8(sframe::version_3);
  writer.u8(sframe::flag::sorted | sframe::flag::function_start_pc_relative);
  writer.u8(static_cast<std::uint8_t>(traits_.abi));
  writer.u8(0);  // no fixed FP offset on any ABI
  writer.u8(static_cast<std::uint8_t>(traits_.fixed_ra_offset));
  writer.u8(0);  // auxiliary header: the kernel refuses any
  writer.u32(static_cast<std::uint32_t>(index_.size()));
  writer.u32(static_cast<std::uint32_t>(row_count_));
  writer.u32(static_cast<std::uint32_t>(rows_.size()));
  writer.u32(0);            // the index follows the header
  writer.u32(index_bytes);  // the rows follow the index
  for (const IndexEntry& entry : index_) {
    // Relative to the field itself (section 2.3.1).
    const std::uint64_t field_address = section_address + writer.size();
    writer.u64(entry.start - field_address);
    writer.u32(entry.size);
    writer.u32(entry.attribute_offset);
  }
  writer.append_bytes(rows_.bytes());
  return writer.release();
}

}  // namespace sframe_gen::emit
