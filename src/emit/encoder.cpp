#include "emit/encoder.hpp"

#include <algorithm>
#include <cassert>
#include <concepts>
#include <limits>
#include <stdexcept>
#include <string>
#include <utility>

#include "sframe/format.hpp"
#include "support/text.hpp"
#include "support/workers.hpp"

namespace sframe_gen::emit {

namespace {

/// Where fields go one after the other: descriptors come by the hundred thousand, and room is made for many at once.
class Cursor {
 public:
  Cursor(std::byte* place, Endian endian) : place_(place), endian_(endian) {}

  template <std::unsigned_integral Field>
  void put(Field value) {
    store(std::span(place_, sizeof(Field)), value, endian_);
    place_ += sizeof(Field);
  }
  std::byte* place() const { return place_; }

 private:
  std::byte* place_;
  Endian endian_;
};

}  // namespace

std::byte* put_attribute(const SectionEncoder::Descriptor& entry, sframe::FdeType type, const Dialect& dialect,
                         std::byte* place) {
  if (!dialect.version->splits_descriptor) return place;
  Cursor cursor(place, dialect.abi->endian);
  cursor.put(static_cast<std::uint16_t>(entry.fre_count));
  cursor.put(entry.info.byte());
  cursor.put(sframe::FdeInfo2(type).byte());
  cursor.put(entry.repeat_size);
  return cursor.place();
}

SectionEncoder::SectionEncoder(const Dialect& dialect) : dialect_(dialect) {}

SectionEncoder::SectionEncoder(const Dialect& dialect, std::vector<Descriptor> fdes, ByteChunks fres)
    : dialect_(dialect), fres_(std::move(fres)), fdes_(std::move(fdes)), fres_are_shared_(true) {
  for (const Descriptor& entry : fdes_) fre_count_ += entry.fre_count;
  check_limits();
}

/// Everything but the rows.
void SectionEncoder::add_descriptor(const FdeRows& fde) {
  assert(!fde.rows.empty() && fde.rows.size() <= dialect_.version->largest_fre_count);
  assert(fdes_.empty() || fdes_.back().start + fdes_.back().size <= fde.start);
  check_limits();
  const unsigned fre_type = static_cast<unsigned>(fre_address_width(fde.size)) + dialect_.version->first_fre_type;
  const sframe::FdeInfo info(fre_type, fde.pc_type, fde.b_key, fde.signal_frame);
  fdes_.push_back({fde.start, fde.size, static_cast<std::uint32_t>(fres_.size()),
                   static_cast<std::uint32_t>(fde.rows.size()), info, fde.repeat_size});
  append_attribute(fde.type);
  fre_count_ += fde.rows.size();
}

void SectionEncoder::add(const FdeRows& fde, const EncodedRules& encoded_rules) {
  // Few, since room for rows is several times what they take, and a chunk's end must not stay empty.
  constexpr std::size_t most_at_once = 64;
  add_descriptor(fde);
  const sframe::FreAddressWidth width = fre_address_width(fde.size);
  for (std::span rows(fde.rows); !rows.empty();) {
    const auto now = rows.first(std::min(rows.size(), most_at_once));
    fres_.append_filled(room_of_rows(now.size(), width),
                        [&](std::byte* place) { return put_rows(now, 0, width, fde.type, encoded_rules, place); });
    rows = rows.subspan(now.size());
  }
}

/// Of the last function.
void SectionEncoder::append_attribute(sframe::FdeType type) {
  fres_.append_filled(sframe::fde_attribute::size,
                      [&](std::byte* place) { return put_attribute(fdes_.back(), type, dialect_, place); });
}

void SectionEncoder::append(SectionEncoder&& other) {
  const std::uint64_t shift = fres_.size();
  fres_.append(std::move(other.fres_));
  check_limits();
  fdes_.reserve(fdes_.size() + other.fdes_.size());
  for (Descriptor entry : other.fdes_) {
    entry.fres_offset = static_cast<std::uint32_t>(shift + entry.fres_offset);
    fdes_.push_back(entry);
  }
  fre_count_ += other.fre_count_;
}

void SectionEncoder::extend_over_padding(const std::function<IsPadding()>& new_is_padding) {
  constexpr std::size_t piece = 1024, pieces_per_worker = 2;
  const std::size_t pieces = (fdes_.size() + piece - 1) / piece;
  parallel_for(pieces, workers_for(pieces, pieces_per_worker), [&](std::size_t number, std::size_t) {
    const std::size_t end = std::min((number + 1) * piece, fdes_.size() - 1);
    const IsPadding is_padding = new_is_padding();
    for (std::size_t i = number * piece; i < end; ++i) {
      Descriptor& entry = fdes_[i];
      const std::uint64_t code_end = entry.start + entry.size, next = fdes_[i + 1].start;
      // Not over the last byte, if there are more: unwinders look up the byte before a return address, and that of
      // glibc's makecontext is the start of a function, which nothing has called.
      const std::uint64_t end_of_rows = next - code_end > 1 ? next - 1 : next;
      const std::uint64_t size = end_of_rows - entry.start;
      if (next == code_end || size > std::numeric_limits<std::uint32_t>::max()) continue;
      if (entry.info.pc_type() == sframe::PcType::Mask || entry.info.signal_frame()) continue;
      if (is_padding(code_end, next)) entry.size = static_cast<std::uint32_t>(size);
    }
  });
}

void SectionEncoder::add_without_rows(std::span<const std::uint64_t> starts) {
  assert(dialect_.version->splits_descriptor);
  const std::size_t before = fdes_.size();
  for (const std::uint64_t start : starts) {
    fdes_.push_back({start, 0, static_cast<std::uint32_t>(fres_.size()), 0, sframe::FdeInfo(0), 0});
    append_attribute(sframe::FdeType::Default);
  }
  std::ranges::inplace_merge(fdes_, fdes_.begin() + static_cast<std::ptrdiff_t>(before), {}, &Descriptor::start);
  check_limits();
}

/// Offsets into the rows and all counts of the header have 32 bits.
void SectionEncoder::check_limits() const {
  if (fres_.size() > std::numeric_limits<std::uint32_t>::max() ||
      (fdes_.size() + 1) * dialect_.version->descriptor_size > std::numeric_limits<std::uint32_t>::max()) {
    throw std::length_error("more rows than the 32-bit offsets of an SFrame section can reach");
  }
}

std::uint64_t SectionEncoder::encoded_size() const {
  return dialect_.version->header_size() + fdes_.size() * dialect_.version->descriptor_size + fres_.size();
}

/// Everything before the rows.
ByteChunks SectionEncoder::index(std::uint64_t section_address) const {
  check_limits();
  ByteWriter header(dialect_.abi->endian);
  write_header(header, sframe::flag::sorted | start_flag());
  ByteChunks chunks;
  chunks.append(header.bytes());
  const sframe::VersionTraits& version = *dialect_.version;
  // Relative to the field itself (section 2.3.1), which is also how CTF Frame counts; else to the section.
  const bool from_field = dialect_.pc_relative_starts || version.version == sframe::Version::CtfFrame;
  std::uint64_t base = section_address + (from_field ? header.size() : 0);
  for (const Descriptor& entry : fdes_) {
    chunks.append_filled(version.descriptor_size, [&](std::byte* place) {
      Cursor cursor(place, dialect_.abi->endian);
      if (version.start_size == 8) {
        cursor.put(distance(entry.start, base));
      } else {
        cursor.put(reach(entry.start, base));
      }
      write_rest(cursor, entry);
      return cursor.place();
    });
    if (from_field) base += version.descriptor_size;
  }
  return chunks;
}

std::vector<std::byte> SectionEncoder::encode(std::uint64_t section_address) const {
  std::vector<std::byte> bytes;
  bytes.reserve(encoded_size());
  append_to(bytes, index(section_address));
  append_to(bytes, fres_);
  return bytes;
}

ByteChunks SectionEncoder::release(std::uint64_t section_address) {
  ByteChunks chunks = index(section_address);
  chunks.append(std::move(fres_));
  return chunks;
}

std::vector<std::uint64_t> SectionEncoder::starts() const {
  std::vector<std::uint64_t> starts;
  starts.reserve(fdes_.size());
  for (const Descriptor& entry : fdes_) starts.push_back(entry.start);
  return starts;
}

std::uint64_t SectionEncoder::start_field(std::size_t index) const {
  return dialect_.version->header_size() + index * dialect_.version->descriptor_size;
}

std::vector<std::byte> SectionEncoder::encode_for_object(std::span<const std::size_t> order) const {
  assert(order.size() == fdes_.size() && dialect_.version->version != sframe::Version::CtfFrame);
  check_limits();
  ByteWriter writer(dialect_.abi->endian);
  ByteWriter fres(dialect_.abi->endian);
  const std::vector<std::byte> rows = joined(fres_);
  writer.reserve(encoded_size());
  fres.reserve(rows.size());
  write_header(writer, start_flag());
  for (const std::size_t index : order) {
    Descriptor entry = fdes_[index];
    if (!fres_are_shared_) {
      const std::size_t end = index + 1 < fdes_.size() ? fdes_[index + 1].fres_offset : rows.size();
      const auto block = std::span(rows).subspan(entry.fres_offset, end - entry.fres_offset);
      entry.fres_offset = static_cast<std::uint32_t>(fres.size());
      fres.append_bytes(block);
    }
    writer.append_filled(dialect_.version->descriptor_size, [&](std::byte* place) {
      Cursor cursor(place, dialect_.abi->endian);
      if (dialect_.version->start_size == 8) {
        cursor.put(std::uint64_t{0});
      } else {
        cursor.put(std::uint32_t{0});
      }
      write_rest(cursor, entry);
      return cursor.place();
    });
  }
  writer.append_bytes(fres_are_shared_ ? rows : fres.bytes());
  return writer.release();
}

std::uint8_t SectionEncoder::start_flag() const {
  return dialect_.pc_relative_starts ? sframe::flag::function_start_pc_relative : std::uint8_t{0};
}

void SectionEncoder::write_header(ByteWriter& writer, std::uint8_t flags) const {
  writer.u16(sframe::magic);
  writer.u8(dialect_.version->number);
  writer.u8(flags);
  writer.u8(static_cast<std::uint8_t>(dialect_.abi->abi));
  writer.u8(0);  // no fixed FP offset on any ABI
  writer.u8(static_cast<std::uint8_t>(dialect_.abi->fixed_ra_offset));
  if (dialect_.version->has_auxiliary_header) writer.u8(0);  // the kernel refuses any
  writer.u32(static_cast<std::uint32_t>(fdes_.size()));
  writer.u32(static_cast<std::uint32_t>(fre_count_));
  writer.u32(static_cast<std::uint32_t>(fres_.size()));
  writer.u32(0);  // the functions follow the header
  writer.u32(static_cast<std::uint32_t>(fdes_.size() * dialect_.version->descriptor_size));  // the rows follow them
}

/// What follows the start.
template <typename AnyCursor>
void SectionEncoder::write_rest(AnyCursor& cursor, const Descriptor& entry) const {
  const sframe::VersionTraits& version = *dialect_.version;
  cursor.put(entry.size);
  cursor.put(entry.fres_offset);
  if (version.splits_descriptor) return;
  cursor.put(entry.fre_count);
  cursor.put(entry.info.byte());
  if (!version.has_repeat_size) return;
  cursor.put(entry.repeat_size);
  cursor.put(std::uint16_t{0});  // padding
}

std::uint64_t SectionEncoder::distance(std::uint64_t start, std::uint64_t base) {
  const std::uint64_t distance = start - base;
  // Readers add it as a number with a sign, and refuse a start for which that passes either end of the addresses.
  const bool wraps = static_cast<std::int64_t>(distance) < 0 ? start >= base : start < base;
  if (wraps)
    throw std::range_error("function at " + hex(start) + " is further from " + hex(base) + " than 63 bits reach");
  return distance;
}

std::uint32_t SectionEncoder::reach(std::uint64_t start, std::uint64_t base) const {
  const auto near = static_cast<std::int64_t>(distance(start, base));
  if (near != static_cast<std::int32_t>(near)) {
    throw std::range_error("function at " + hex(start) + " is further from " + hex(base) +
                           " than the 32-bit starts of " + std::string(dialect_.version->name) +
                           " reach; use --sframe-version=3");
  }
  return static_cast<std::uint32_t>(near);
}

}  // namespace sframe_gen::emit
