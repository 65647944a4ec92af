#include "elf/note.hpp"

#include <algorithm>

#include "support/byte_reader.hpp"

namespace sframe_gen::elf {

std::vector<Note> read_notes(std::span<const std::byte> bytes, std::uint64_t alignment, Endian endian,
                             const Origin& origin) {
  const std::uint64_t padding = alignment == 8 ? 8 : 4;
  ByteReader reader(bytes, endian, origin);
  std::vector<Note> notes;
  const auto skip_padding = [&] {
    reader.take(std::min(reader.left(), (padding - reader.offset() % padding) % padding), "padding of a note");
  };
  while (reader.left() >= 12) {
    const std::uint32_t name_size = reader.u32("name size of a note");
    const std::uint32_t descriptor_size = reader.u32("descriptor size of a note");
    Note note{reader.u32("type of a note"), {}, {}};
    const auto name = reader.take(name_size, "name of a note");
    const auto end = std::find(name.begin(), name.end(), std::byte{0});
    note.owner.assign(reinterpret_cast<const char*>(name.data()), static_cast<std::size_t>(end - name.begin()));
    skip_padding();
    note.descriptor = reader.take(descriptor_size, "descriptor of a note");
    skip_padding();
    notes.push_back(std::move(note));
  }
  return notes;
}

}  // namespace sframe_gen::elf
