#include "elf/edit/contents.hpp"

#include <algorithm>
#include <span>
#include <utility>
#include <vector>

#include "elf/machine.hpp"
#include "elf/plan/movable.hpp"
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

bool is_symbol_table(const Section& section) {
  return section.header.sh_type == SHT_SYMTAB || section.header.sh_type == SHT_DYNSYM;
}

/// A table of the output, copied from the input when its first word changes.
class Table {
 public:
  Table(std::span<const std::byte> before, Endian endian) : before_(before), endian_(endian) {}

  template <typename T>
  void set(std::size_t at, T value) {
    if (bytes_.empty()) bytes_.assign(before_.begin(), before_.end());
    store<T>(std::span(bytes_).subspan(at, sizeof(T)), value, endian_);
  }

  std::vector<std::byte> release() { return std::move(bytes_); }

 private:
  std::span<const std::byte> before_;
  Endian endian_;
  std::vector<std::byte> bytes_;
};

/// The functions below return the changed table, or nothing if it stays as it is.
std::vector<std::byte> changed_symbols(const Image& image, const Layout& layout, const Section& symbols) {
  const auto table = image.bytes_of(symbols);
  Table changed(table, image.endian());
  for (std::size_t at = 0; at + sizeof(Elf64_Sym) <= table.size(); at += sizeof(Elf64_Sym)) {
    const Elf64_Sym symbol = load_symbol(table.subspan(at), image.endian());
    const std::uint32_t old_index = symbol.st_shndx;
    if (old_index == SHN_UNDEF || old_index >= SHN_LORESERVE || old_index >= layout.new_index_of.size()) continue;
    if (layout.new_index_of[old_index] != old_index)
      changed.set(at + symbol_section_at, static_cast<std::uint16_t>(layout.new_index_of[old_index]));
    const std::uint64_t value = symbol.st_value;
    const Section& section = image.sections()[old_index];
    // __ehdr_start belongs to the first section by its index, but not by its value.
    const std::uint64_t delta = layout.sections[layout.new_index_of[old_index]].header.sh_addr - section.header.sh_addr;
    // The code goes on using the old address of a library's mark.
    if (delta != 0 && (holds_address(section.header, value) || value == section.header.sh_addr) &&
        !is_library_mark(image, symbols, symbol))
      changed.set(at + symbol_value_at, value + delta);
  }
  return changed.release();
}

/// Words that are section indices: all of an SHT_SYMTAB_SHNDX, all but the first (flags) of an SHT_GROUP.
std::vector<std::byte> changed_indices(const Image& image, const Layout& layout, std::span<const std::byte> table,
                                       std::size_t first) {
  Table changed(table, image.endian());
  for (std::size_t at = first; at + sizeof(std::uint32_t) <= table.size(); at += sizeof(std::uint32_t)) {
    const auto old_index = load<std::uint32_t>(table.subspan(at, sizeof(std::uint32_t)), image.endian());
    if (old_index < layout.new_index_of.size() && layout.new_index_of[old_index] != old_index)
      changed.set(at, layout.new_index_of[old_index]);
  }
  return changed.release();
}

/// Puts section indices and addresses inside symbol tables, SHT_SYMTAB_SHNDX and SHT_GROUP in their place, as `layout`
/// renumbers and moves them.
void put_symbols(const Image& image, const Layout& layout, files::Regions& contents) {
  for (const Section& section : image.sections()) {
    const auto table = image.bytes_of(section);
    std::vector<std::byte> changed;
    if (is_symbol_table(section))
      changed = changed_symbols(image, layout, section);
    else if (section.header.sh_type == SHT_SYMTAB_SHNDX)
      changed = changed_indices(image, layout, table, 0);
    else if (section.header.sh_type == SHT_GROUP)
      changed = changed_indices(image, layout, table, sizeof(std::uint32_t));
    if (!changed.empty())
      contents.put_bytes(layout.sections[layout.new_index_of[section.index]].header.sh_offset, std::move(changed));
  }
}

}  // namespace

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
