#include "elf/new_section.hpp"

#include "support/bytes.hpp"
#include "support/endian.hpp"

namespace sframe_gen::elf {

namespace {

std::uint64_t trailer_size(const NewSection& section) {
  return sizeof(std::uint64_t) + section.undo_name.size();
}

}  // namespace

std::vector<std::byte> undo_trailer(std::uint64_t size, const NewSection& section) {
  ByteWriter writer(Endian::Little);
  writer.u64(size);
  writer.append_bytes(std::as_bytes(std::span(section.undo_name)));
  return writer.release();
}

std::optional<Range> find_undo_trailer(std::span<const std::byte> file, const NewSection& section) {
  if (file.size() < trailer_size(section)) return {};
  const auto trailer = file.last(trailer_size(section));
  const auto size = load<std::uint64_t>(trailer, Endian::Little);
  const auto rest = file.first(file.size() - trailer.size());
  if (size > rest.size() || size < undo_magic.size() || !equal_bytes(trailer, undo_trailer(size, section))) return {};
  const std::uint64_t begin = rest.size() - size;
  if (!equal_bytes(file.subspan(begin, undo_magic.size()), undo_magic)) return {};
  return Range{begin, file.size()};
}

std::span<const std::byte> without_trailer(std::span<const std::byte> record, const NewSection& section) {
  const bool has_trailer = find_undo_trailer(record, section) == Range{0, record.size()};
  return has_trailer ? record.first(record.size() - trailer_size(section)) : record;
}

}  // namespace sframe_gen::elf
