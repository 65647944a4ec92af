#include "elf/headerless/eh_frame_finder.hpp"

#include <algorithm>
#include <unordered_set>

#include "elf/load_lookup.hpp"
#include "support/byte_reader.hpp"
#include "support/text.hpp"

namespace sframe_gen::elf {

namespace {

/// DWARF exception header encoding (LSB 5.0, section 10.5.1): four bits of format, three of what it is relative to.
constexpr std::uint8_t format_mask = 0x0f;
constexpr std::uint8_t omitted = 0xff;
constexpr std::uint8_t datarel_sdata4 = 0x3b;  ///< what every linker writes its search table in

/// A number in one of these encodings. `place` is its own address, `header` that of PT_GNU_EH_FRAME.
std::uint64_t read_encoded(ByteReader& reader, std::uint8_t encoding, std::uint64_t header, const char* what) {
  const std::uint64_t at = reader.offset();
  const auto value = [&]() -> std::uint64_t {
    switch (encoding & format_mask) {
      case 0x00:
      case 0x04:
      case 0x0c:
        return reader.u64(what);
      case 0x02:
        return reader.u16(what);
      case 0x03:
        return reader.u32(what);
      case 0x0a:
        return static_cast<std::uint64_t>(reader.i16(what));
      case 0x0b:
        return static_cast<std::uint64_t>(reader.i32(what));
      default:
        reader.fail(at, std::string(what) + " has the unknown encoding " + hex(encoding));
    }
  }();
  switch (encoding & ~format_mask) {
    case 0x00:
      return value;
    case 0x10:
      return value + header + at;
    case 0x30:
      return value + header;
    default:
      reader.fail(at, std::string(what) + " has the unknown encoding " + hex(encoding));
  }
}

struct SearchHeader {
  std::uint64_t eh_frame = 0;             ///< address
  std::optional<std::uint64_t> last_fde;  ///< address, of those in the search table
};

SearchHeader read_header(const Image& image, const Elf64_Phdr& segment) {
  const Origin origin{image.name(), "PT_GNU_EH_FRAME"};
  ByteReader reader(image.slice(segment.p_offset, segment.p_filesz, "PT_GNU_EH_FRAME"), image.endian(), origin);
  const std::uint8_t version = reader.u8("version");
  if (version != 1) reader.fail(0, "version is " + std::to_string(version) + ", not 1");
  const std::uint8_t eh_frame_encoding = reader.u8("encoding of .eh_frame's address");
  const std::uint8_t count_encoding = reader.u8("encoding of the number of FDEs");
  const std::uint8_t table_encoding = reader.u8("encoding of the search table");
  SearchHeader header;
  header.eh_frame = read_encoded(reader, eh_frame_encoding, segment.p_vaddr, ".eh_frame's address");
  if (count_encoding == omitted || table_encoding != datarel_sdata4) return header;
  const std::uint64_t count = read_encoded(reader, count_encoding, segment.p_vaddr, "number of FDEs");
  if (count > reader.left() / 8)
    reader.fail("search table of " + std::to_string(count) + " entries does not fit in the segment");
  for (std::uint64_t i = 0; i < count; ++i) {
    reader.i32("function start");
    const std::uint64_t fde = segment.p_vaddr + static_cast<std::uint64_t>(reader.i32("address of an FDE"));
    header.last_fde = std::max(header.last_fde.value_or(0), fde);
  }
  return header;
}

/// Steps over records as long as they look like some.
class RecordWalk {
 public:
  RecordWalk(std::span<const std::byte> bytes, Endian endian, const Origin& origin)
      : size_(bytes.size()), reader_(bytes, endian, origin) {}

  /// Bytes up to the terminator and with it, or all; nothing where something else stands in between.
  std::optional<std::uint64_t> to_terminator() {
    while (!reader_.at_end()) {
      const auto length = read_length();
      if (!length) return {};
      if (*length == 0) return reader_.offset();
      if (!step(*length)) return {};
    }
    return size_;
  }

  /// The end of the one record that begins here.
  std::optional<std::uint64_t> over_one() {
    const auto length = read_length();
    if (!length || *length > reader_.left()) return {};
    return reader_.offset() + *length;
  }

 private:
  /// Of the record's body; nothing if there is no sound one.
  std::optional<std::uint64_t> read_length() {
    if (reader_.left() < sizeof(std::uint32_t)) return {};
    const std::uint32_t length = reader_.u32("record length");
    is_wide_ = length == UINT32_MAX;
    if (!is_wide_) return length;
    if (reader_.left() < sizeof(std::uint64_t)) return {};
    return reader_.u64("64-bit record length");
  }

  bool step(std::uint64_t length) {
    const std::uint64_t begin = reader_.offset() - (is_wide_ ? 12 : 4);
    const std::uint64_t id_at = reader_.offset();
    const std::uint64_t id_size = is_wide_ ? 8 : 4;
    if (length > reader_.left() || length < id_size + 1) return false;
    const std::uint64_t id = is_wide_ ? reader_.u64("CIE id") : reader_.u32("CIE id");
    const std::uint8_t version = reader_.u8("CIE version");
    reader_.take(length - id_size - 1, "record");
    if (id != 0) return commons_.contains(id_at - id);
    commons_.insert(begin);
    return version == 1 || version == 3 || version == 4;
  }

  std::uint64_t size_;
  ByteReader reader_;
  bool is_wide_ = false;
  std::unordered_set<std::uint64_t> commons_;  ///< by offset
};

}  // namespace

std::optional<EhFramePlace> find_eh_frame(const Image& image) {
  const Elf64_Phdr* const segment = image.find_segment(PT_GNU_EH_FRAME);
  if (segment == nullptr || segment->p_filesz == 0) return {};
  const SearchHeader header = read_header(image, *segment);
  const Origin origin{image.name(), "PT_GNU_EH_FRAME"};
  const auto bytes = loaded_bytes_from(image, header.eh_frame);
  if (bytes.empty())
    throw MalformedInput(origin, 0, ".eh_frame's address is " + hex(header.eh_frame) + ", where no PT_LOAD has bytes");
  if (const auto size = RecordWalk(bytes, image.endian(), origin).to_terminator())
    return EhFramePlace{header.eh_frame, *size};
  if (!header.last_fde) return EhFramePlace{header.eh_frame, bytes.size()};
  const std::uint64_t begin = *header.last_fde - header.eh_frame;
  if (begin >= bytes.size())
    throw MalformedInput(origin, 0, "FDE at " + hex(*header.last_fde) + " is outside .eh_frame's segment");
  const auto end = RecordWalk(bytes.subspan(begin), image.endian(), origin).over_one();
  if (!end) throw MalformedInput(origin, 0, "FDE at " + hex(*header.last_fde) + " reaches over .eh_frame's segment");
  return EhFramePlace{header.eh_frame, begin + *end};
}

}  // namespace sframe_gen::elf
