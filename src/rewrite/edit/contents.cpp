#include "rewrite/edit/contents.hpp"

#include <algorithm>
#include <span>
#include <utility>
#include <vector>

#include "elf/machine.hpp"
#include "elf/records.hpp"
#include "rewrite/plan/movable.hpp"
#include "support/bytes.hpp"

namespace sframe_gen::rewrite {

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
  elf::store_header(bytes, header, endian);
  return bytes;
}

std::vector<std::byte> segment_table(const Layout& layout, Endian endian) {
  std::vector<std::byte> bytes(layout.segments.size() * sizeof(Elf64_Phdr));
  for (std::size_t i = 0; i < layout.segments.size(); ++i)
    elf::store_segment(std::span(bytes).subspan(i * sizeof(Elf64_Phdr)), layout.segments[i], endian);
  return bytes;
}

std::vector<std::byte> section_table(const Layout& layout, Endian endian) {
  std::vector<std::byte> bytes(layout.sections.size() * sizeof(Elf64_Shdr));
  for (std::size_t i = 0; i < layout.sections.size(); ++i)
    elf::store_section(std::span(bytes).subspan(i * sizeof(Elf64_Shdr)), layout.sections[i].header, endian);
  return bytes;
}

bool is_symbol_table(std::uint32_t section_type) {
  return section_type == SHT_SYMTAB || section_type == SHT_DYNSYM;
}

/// Moves symbols with the sections that they are in. `table` is what `symbols` becomes.
void move_symbols(const elf::Image& image, const Layout& layout, const elf::Section& symbols,
                  std::span<std::byte> table) {
  const auto before = image.bytes_of(symbols);
  for (std::size_t at = 0; at + sizeof(Elf64_Sym) <= before.size(); at += sizeof(Elf64_Sym)) {
    const Elf64_Sym symbol = elf::load_symbol(before.subspan(at), image.endian());
    if (symbol.st_shndx == SHN_UNDEF || symbol.st_shndx >= image.sections().size()) continue;
    const Elf64_Shdr& section = image.sections()[symbol.st_shndx].header;
    const std::uint32_t now = layout.new_index_of[symbol.st_shndx];
    if (now == SHN_ABS) continue;  // was removed
    const std::uint64_t delta = layout.sections[now].header.sh_addr - section.sh_addr;
    // __ehdr_start belongs to the first section by its index, but not by its value. The code goes on using the old
    // address of a library's mark.
    const bool is_in_section = elf::holds_address(section, symbol.st_value) || symbol.st_value == section.sh_addr;
    if (delta != 0 && is_in_section && !is_library_mark(image, symbols, symbol))
      store<std::uint64_t>(table.subspan(at + elf::symbol_value_at), symbol.st_value + delta, image.endian());
  }
}

/// Puts tables of section indices and symbols in their place, as `layout` renumbers and moves them.
void put_index_tables(const elf::Image& image, const Layout& layout, files::Regions& contents) {
  for (const elf::Section& section : image.sections()) {
    const std::uint32_t type = section.header.sh_type;
    if (!has_section_indices(type)) continue;
    const auto before = image.bytes_of(section);
    std::vector<std::byte> now(before.begin(), before.end());
    renumber_sections(now, type, image.endian(), layout.new_index_of);
    if (is_symbol_table(type)) move_symbols(image, layout, section, now);
    if (!equal_bytes(before, now))
      contents.put_bytes(layout.sections[layout.new_index_of[section.index]].header.sh_offset, std::move(now));
  }
}

template <typename Index>
void renumber_each(std::span<std::byte> table, std::size_t first, std::size_t step, Endian endian,
                   const std::vector<std::uint32_t>& index_of) {
  for (std::size_t at = first; at + sizeof(Index) <= table.size(); at += step) {
    const auto place = table.subspan(at, sizeof(Index));
    const auto index = load<Index>(place, endian);
    if (index != SHN_UNDEF && index < index_of.size() && index_of[index] != index)
      store<Index>(place, static_cast<Index>(index_of[index]), endian);
  }
}

}  // namespace

bool has_section_indices(std::uint32_t section_type) {
  return is_symbol_table(section_type) || section_type == SHT_SYMTAB_SHNDX || section_type == SHT_GROUP;
}

void renumber_sections(std::span<std::byte> table, std::uint32_t section_type, Endian endian,
                       const std::vector<std::uint32_t>& index_of) {
  if (is_symbol_table(section_type))
    return renumber_each<std::uint16_t>(table, elf::symbol_section_at, sizeof(Elf64_Sym), endian, index_of);
  // A group's first word holds flags.
  const std::size_t first = section_type == SHT_GROUP ? sizeof(std::uint32_t) : 0;
  renumber_each<std::uint32_t>(table, first, sizeof(std::uint32_t), endian, index_of);
}

files::Regions copied_input(const Layout& layout) {
  files::Regions contents(layout.file_size);
  std::uint64_t begin = 0;
  for (const Range& dropped : layout.dropped) {
    put_copies(layout.offset_map, begin, std::min(dropped.begin, layout.copied_size), contents);
    begin = std::max(begin, dropped.end);
  }
  put_copies(layout.offset_map, begin, layout.copied_size, contents);
  for (const MovedBytes& moved : layout.moved) contents.put_input(moved.to, moved.from.begin, moved.from.size());
  return contents;
}

files::Regions contents_of(const elf::Image& image, const Layout& layout) {
  files::Regions contents = copied_input(layout);
  // Without section headers, their indices mean nothing, and no symbol moves.
  if (!layout.sections.empty()) put_index_tables(image, layout, contents);
  for (const ChangedNumber& changed : layout.changed_numbers) {
    std::vector<std::byte> value(changed.size);
    if (changed.size == sizeof(std::uint32_t))
      store<std::uint32_t>(std::span(value), static_cast<std::uint32_t>(changed.value), image.endian());
    else
      store<std::uint64_t>(std::span(value), changed.value, image.endian());
    contents.put_bytes(changed.offset, std::move(value));
  }
  contents.put_hole(layout.section_offset, layout.section_size);
  contents.put_bytes(0, header_bytes(layout.header, image.endian()));
  contents.put_bytes(layout.header.e_phoff, segment_table(layout, image.endian()));
  if (layout.old_header)
    contents.put_bytes(layout.old_header->offset, header_bytes(layout.old_header->header, image.endian()));
  const auto names = std::as_bytes(std::span(layout.section_names));
  contents.put_bytes(layout.names_at_end().begin, {names.begin(), names.end()});
  contents.put_bytes(layout.header.e_shoff, section_table(layout, image.endian()));
  return contents;
}

}  // namespace sframe_gen::rewrite
