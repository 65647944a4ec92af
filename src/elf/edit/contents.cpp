#include "elf/edit/contents.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "elf/records.hpp"

namespace sframe_gen::elf {

namespace {

/// [begin, end) of the input, split where something is inserted.
void put_copies(const OffsetMap& map, std::uint64_t begin, std::uint64_t end, files::Regions& contents) {
  if (begin >= end) return;
  for (const Insertion& insertion : map.insertions()) {
    if (insertion.at <= begin || insertion.at >= end) continue;
    contents.put_input(map(begin), begin, insertion.at - begin);
    begin = insertion.at;
  }
  contents.put_input(map(begin), begin, end - begin);
}

std::vector<std::byte> header_bytes(const Elf64_Ehdr& header, Endian endian) {
  std::vector<std::byte> bytes(sizeof(Elf64_Ehdr));
  store_header(bytes, header, endian);
  return bytes;
}

std::vector<std::byte> segment_table(const Layout& layout, Endian endian) {
  std::vector<std::byte> bytes(layout.segments.size() * sizeof(Elf64_Phdr));
  for (std::size_t i = 0; i < layout.segments.size(); ++i)
    store_segment(std::span(bytes).subspan(i * sizeof(Elf64_Phdr)), layout.segments[i], endian);
  return bytes;
}

std::vector<std::byte> section_table(const Layout& layout, Endian endian) {
  std::vector<std::byte> bytes(layout.sections.size() * sizeof(Elf64_Shdr));
  for (std::size_t i = 0; i < layout.sections.size(); ++i)
    store_section(std::span(bytes).subspan(i * sizeof(Elf64_Shdr)), layout.sections[i].header, endian);
  return bytes;
}

}  // namespace

files::Regions copied_input(const Layout& layout) {
  files::Regions contents(layout.file_size);
  std::uint64_t begin = 0;
  for (const FileRange& dropped : layout.dropped) {
    put_copies(layout.offset_map, begin, std::min(dropped.begin, layout.copied_size), contents);
    begin = std::max(begin, dropped.end);
  }
  put_copies(layout.offset_map, begin, layout.copied_size, contents);
  for (const MovedBytes& moved : layout.moved)
    contents.put_input(moved.to, moved.from.begin, moved.from.end - moved.from.begin);
  return contents;
}

files::Regions contents_of(const Image& image, const Layout& layout) {
  files::Regions contents = copied_input(layout);
  // Without section headers, their indices mean nothing, and no symbol moves.
  if (image.has_section_headers()) put_symbols(image, layout, contents);
  for (const DynamicPatch& dynamic : layout.dynamic_patches) {
    std::vector<std::byte> value(sizeof(std::uint64_t));
    store<std::uint64_t>(std::span(value), dynamic.value, image.endian());
    contents.put_bytes(dynamic.offset, std::move(value));
  }
  contents.put_hole(layout.section_offset, layout.section_size);
  contents.put_bytes(0, header_bytes(layout.header, image.endian()));
  contents.put_bytes(layout.header.e_phoff, segment_table(layout, image.endian()));
  if (layout.old_headers)
    contents.put_bytes(layout.old_headers->offset, header_bytes(layout.old_headers->header, image.endian()));
  if (!layout.section_names.empty()) {
    const auto names = std::as_bytes(std::span(layout.section_names));
    contents.put_bytes(layout.sections[layout.header.e_shstrndx].header.sh_offset, {names.begin(), names.end()});
  }
  if (image.has_section_headers()) contents.put_bytes(layout.header.e_shoff, section_table(layout, image.endian()));
  return contents;
}

void put_section(const Layout& layout, BytePieces section_bytes, files::Regions& contents) {
  std::uint64_t end = layout.section_offset;
  for (std::vector<std::byte>& piece : section_bytes) {
    const std::uint64_t begin = end;
    end += piece.size();
    contents.put_bytes(begin, std::move(piece));
  }
}

}  // namespace sframe_gen::elf
