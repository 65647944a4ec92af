
#include <utility>
#include <vector>

#include "elf/edit/contents.hpp"
#include "elf/image.hpp"
#include "elf/machine.hpp"
#include "elf/plan/movable.hpp"
#include "elf/records.hpp"
#include "support/text.hpp"

namespace sframe_gen::elf {

namespace {

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

}  // namespace

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

}  // namespace sframe_gen::elf
