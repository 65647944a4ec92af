#include "elf/undo/undo_trailer.hpp"

#include <algorithm>

#include "elf/undo/undo_record.hpp"
#include "support/byte_writer.hpp"
#include "support/endian.hpp"

namespace sframe_gen::elf {

namespace {

std::uint64_t trailer_size(const NewSection& section) {
  return sizeof(std::uint64_t) + section.undo_name.size();
}

}  // namespace

std::vector<std::byte> undo_trailer(std::uint64_t record_size, const NewSection& section) {
  ByteWriter writer(Endian::Little);
  writer.u64(record_size);
  writer.append_bytes(std::as_bytes(std::span(section.undo_name)));
  return writer.release();
}

std::optional<FileRange> find_undo_trailer(std::span<const std::byte> file, const NewSection& section) {
  if (file.size() < trailer_size(section)) return {};
  const std::uint64_t end = file.size() - trailer_size(section);
  const auto size = load<std::uint64_t>(file.subspan(end), Endian::Little);
  const auto expected = undo_trailer(size, section);
  if (size > end || !std::equal(expected.begin(), expected.end(), file.begin() + static_cast<std::ptrdiff_t>(end)))
    return {};
  if (!begins_undo_record(file.subspan(end - size, size))) return {};
  return FileRange{end - size, file.size()};
}

std::span<const std::byte> without_trailer(std::span<const std::byte> record, const NewSection& section) {
  return record.first(record.size() - std::min<std::uint64_t>(record.size(), trailer_size(section)));
}

}  // namespace sframe_gen::elf
