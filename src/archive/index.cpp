#include "archive/index.hpp"

#include <algorithm>
#include <limits>
#include <string>

#include "support/byte_reader.hpp"
#include "support/byte_writer.hpp"
#include "support/text.hpp"

namespace sframe_gen::archive {

Index read_index(std::span<const std::byte> archive, std::uint64_t offset, std::uint64_t size, Index::Kind kind,
                 const Origin& origin) {
  ByteReader reader(archive.subspan(offset, size), Endian::Big, origin, offset);
  const bool wide = kind == Index::Kind::GnuWide;
  const std::uint64_t count =
      wide ? reader.u64("number of symbols in the index") : reader.u32("number of symbols in the index");
  Index index{kind, reader.offset(), {}};
  if (count > reader.left() / index.number_size())
    throw MalformedInput(origin, offset,
                         "the index says it has " + count_of(count, "symbol") + ", but is too short for them");
  index.header_offsets.reserve(count);
  for (std::uint64_t i = 0; i < count; ++i)
    index.header_offsets.push_back(wide ? reader.u64("offset in the index") : reader.u32("offset in the index"));
  const std::uint64_t names_offset = reader.offset();
  const auto names = reader.take(reader.left(), "names in the index");
  const auto found = static_cast<std::uint64_t>(std::count(names.begin(), names.end(), std::byte{0}));
  if (found < count)
    throw MalformedInput(origin, names_offset,
                         "the index has " + count_of(count, "symbol") + ", but only " + count_of(found, "name"));
  return index;
}

std::vector<std::byte> index_bytes(const Index& index, std::span<const std::uint64_t> header_offsets,
                                   const std::string& file) {
  ByteWriter writer(Endian::Big);
  writer.reserve(header_offsets.size() * index.number_size());
  for (const std::uint64_t offset : header_offsets) {
    if (index.kind == Index::Kind::GnuWide) {
      writer.u64(offset);
      continue;
    }
    // A wider index would move every member once more; who has such an archive can make one with ranlib first.
    if (offset > std::numeric_limits<std::uint32_t>::max())
      throw Refused(file, "would grow beyond 4 GiB, where the 32-bit offsets of its symbol index do not reach");
    writer.u32(static_cast<std::uint32_t>(offset));
  }
  return writer.release();
}

}  // namespace sframe_gen::archive
