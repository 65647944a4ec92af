#include "elf/edit/file_image.hpp"

#include <algorithm>
#include <utility>

#include "elf/records.hpp"

namespace sframe_gen::elf {

namespace {

/// [begin, end) of the input, split where something is inserted.
void add_copies(const OffsetMap& map, std::uint64_t begin, std::uint64_t end, std::vector<Copy>& copies) {
  for (const Insertion& insertion : map.insertions()) {
    if (insertion.at <= begin || insertion.at >= end) continue;
    copies.push_back({begin, map(begin), insertion.at - begin});
    begin = insertion.at;
  }
  if (begin < end) copies.push_back({begin, map(begin), end - begin});
}

std::vector<Copy> list_copies(const Layout& layout) {
  std::vector<Copy> copies;
  std::uint64_t begin = 0;
  for (const FileRange& dropped : layout.dropped) {
    add_copies(layout.offset_map, begin, std::min(dropped.begin, layout.copied_size), copies);
    begin = std::max(begin, dropped.end);
  }
  add_copies(layout.offset_map, begin, layout.copied_size, copies);
  for (const MovedBytes& moved : layout.moved)
    copies.push_back({moved.from.begin, moved.to, moved.from.end - moved.from.begin});
  return copies;
}

Patch header_patch(std::uint64_t offset, const Elf64_Ehdr& header, Endian endian) {
  Patch patch{offset, std::vector<std::byte>(sizeof(Elf64_Ehdr))};
  store_header(patch.bytes, header, endian);
  return patch;
}

Patch segment_table_patch(const Layout& layout, Endian endian) {
  Patch patch{layout.header.e_phoff, std::vector<std::byte>(layout.segments.size() * sizeof(Elf64_Phdr))};
  for (std::size_t i = 0; i < layout.segments.size(); ++i)
    store_segment(std::span(patch.bytes).subspan(i * sizeof(Elf64_Phdr)), layout.segments[i], endian);
  return patch;
}

Patch section_table_patch(const Layout& layout, Endian endian) {
  Patch patch{layout.header.e_shoff, std::vector<std::byte>(layout.sections.size() * sizeof(Elf64_Shdr))};
  for (std::size_t i = 0; i < layout.sections.size(); ++i)
    store_section(std::span(patch.bytes).subspan(i * sizeof(Elf64_Shdr)), layout.sections[i].header, endian);
  return patch;
}

Patch names_patch(const Layout& layout) {
  const auto names = std::as_bytes(std::span(layout.section_names));
  return {layout.sections[layout.header.e_shstrndx].header.sh_offset, {names.begin(), names.end()}};
}

}  // namespace

FileImage copies_of_input(const Layout& layout) {
  FileImage contents;
  contents.size = layout.file_size;
  contents.copies = list_copies(layout);
  return contents;
}

void add_patches(const Image& image, const Layout& layout, BytePieces section_bytes, FileImage& contents) {
  // Without section headers, their indices mean nothing, and no symbol moves.
  if (image.has_section_headers()) contents.patches = fix_symbols(image, layout);
  for (const DynamicPatch& dynamic : layout.dynamic_patches) {
    Patch patch{dynamic.offset, std::vector<std::byte>(sizeof(std::uint64_t))};
    store<std::uint64_t>(std::span(patch.bytes), dynamic.value, image.endian());
    contents.patches.push_back(std::move(patch));
  }
  std::uint64_t section_end = layout.section_offset;
  for (std::vector<std::byte>& piece : section_bytes) {
    const std::uint64_t begin = section_end;
    section_end += piece.size();
    contents.patches.push_back({begin, std::move(piece)});
  }
  contents.patches.push_back(header_patch(0, layout.header, image.endian()));
  contents.patches.push_back(segment_table_patch(layout, image.endian()));
  if (layout.old_headers) {
    contents.patches.push_back(header_patch(layout.old_headers->offset, layout.old_headers->header, image.endian()));
  }
  if (!layout.section_names.empty()) contents.patches.push_back(names_patch(layout));
  if (image.has_section_headers()) contents.patches.push_back(section_table_patch(layout, image.endian()));
}

FileImage build_file_image(const Image& image, const Layout& layout, BytePieces section_bytes) {
  FileImage contents = copies_of_input(layout);
  add_patches(image, layout, std::move(section_bytes), contents);
  return contents;
}

}  // namespace sframe_gen::elf
