#include "elf/notes.hpp"

#include <algorithm>
#include <cstring>
#include <string_view>

#include "support/bytes.hpp"

namespace sframe_gen::elf {

namespace {

template <typename Visit>
void visit_notes(std::span<const std::byte> bytes, std::uint64_t alignment, Endian endian, const InputOrigin& origin,
                 Visit visit) {
  const std::uint64_t padding = alignment == 8 ? 8 : 4;
  ByteReader reader(bytes, endian, origin);
  const auto skip_padding = [&] {
    reader.take(std::min(reader.left(), (padding - reader.offset() % padding) % padding), "padding of a note");
  };
  while (reader.left() >= 12) {
    const std::uint32_t name_size = reader.u32("name size of a note");
    const std::uint32_t descriptor_size = reader.u32("descriptor size of a note");
    Note note{reader.u32("type of a note"), {}, {}};
    const auto name = reader.take(name_size, "name of a note");
    const auto end = std::find(name.begin(), name.end(), std::byte{0});
    note.owner = {reinterpret_cast<const char*>(name.data()), static_cast<std::size_t>(end - name.begin())};
    skip_padding();
    note.descriptor = reader.take(descriptor_size, "descriptor of a note");
    skip_padding();
    visit(note);
  }
}

/// What Linux before 6.12 reads of a mapped file to find its build-id, in bytes.
constexpr std::uint64_t first_page = 4096;

}  // namespace

std::vector<Note> read_notes(std::span<const std::byte> bytes, std::uint64_t alignment, Endian endian,
                             const InputOrigin& origin) {
  std::vector<Note> notes;
  visit_notes(bytes, alignment, endian, origin, [&](const Note& note) { notes.push_back(note); });
  return notes;
}

std::span<const std::byte> build_id(const Image& image) {
  std::uint64_t left = image.file_bytes().size();
  for (const Section& section : image.sections()) {
    if (section.header.sh_type != SHT_NOTE || section.header.sh_size > left) continue;
    left -= section.header.sh_size;
    std::optional<std::span<const std::byte>> id;
    try {
      visit_notes(image.bytes_of(section), section.header.sh_addralign, image.endian(), {image.name(), section.name},
                  [&](const Note& note) {
                    if (!id && note.type == NT_GNU_BUILD_ID && note.owner == "GNU") id = note.descriptor;
                  });
    } catch (const MalformedInput&) {
      // No reader finds a build-id in that one.
      continue;
    }
    if (id) return *id;
  }
  return {};
}

std::string hex_digits(std::span<const std::byte> bytes) {
  constexpr const char* digits = "0123456789abcdef";
  std::string text;
  for (const std::byte byte : bytes) {
    const auto value = std::to_integer<unsigned>(byte);
    text += {digits[value >> 4U], digits[value & 15U]};
  }
  return text;
}

bool has_property_note(std::span<const std::byte> bytes, Endian endian) {
  constexpr std::string_view owner("GNU\0", 4);
  constexpr std::size_t smallest = sizeof(Elf64_Nhdr) + owner.size(), alignment = 4;
  for (std::size_t at = 0; at + smallest <= bytes.size(); at += alignment) {
    const auto field = [&](std::size_t offset) { return load<std::uint32_t>(bytes.subspan(at + offset), endian); };
    if (field(offsetof(Elf64_Nhdr, n_namesz)) == owner.size() &&
        field(offsetof(Elf64_Nhdr, n_type)) == NT_GNU_PROPERTY_TYPE_0 &&
        std::memcmp(bytes.data() + at + sizeof(Elf64_Nhdr), owner.data(), owner.size()) == 0)
      return true;
  }
  return false;
}

bool is_stale_property(const Image& image, const Elf64_Phdr& segment) {
  constexpr std::uint64_t largest = 1024;  // of those that Linux reads
  if (segment.p_type != PT_GNU_PROPERTY || segment.p_filesz > largest) return false;
  return !has_property_note(image.slice(segment.p_offset, segment.p_filesz, "PT_GNU_PROPERTY"), image.endian());
}

std::optional<Range> build_id_in_first_page(const Image& image) {
  const auto id = build_id(image);
  if (id.empty()) return {};
  const std::uint64_t begin = offset_of(image, id);
  const Range place{begin, begin + id.size()};
  return is_in_first_page(place) ? std::optional(place) : std::nullopt;
}

bool is_in_first_page(const Range& place) {
  return place.end <= first_page;
}

}  // namespace sframe_gen::elf
