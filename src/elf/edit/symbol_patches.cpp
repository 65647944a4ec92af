#include "elf/edit/symbol_patches.hpp"

#include <algorithm>

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

/// Collects changed words of one table; changes that stand close together become one patch.
class TablePatches {
 public:
  TablePatches(std::span<const std::byte> table, std::uint64_t output_offset)
      : table_(table), output_offset_(output_offset) {}

  template <typename T>
  void set(std::size_t at, T value, Endian endian) {
    constexpr std::size_t close = 4096;
    if (patches_.empty() || at > begin_ + patches_.back().bytes.size() + close) {
      begin_ = at;
      patches_.push_back({output_offset_ + at, {}});
    }
    auto& bytes = patches_.back().bytes;
    const std::size_t end = at + sizeof(T);
    if (begin_ + bytes.size() < end) {
      const auto more = table_.subspan(begin_ + bytes.size(), end - begin_ - bytes.size());
      bytes.insert(bytes.end(), more.begin(), more.end());
    }
    store<T>(std::span(bytes).subspan(at - begin_), value, endian);
  }

  std::vector<Patch> release() { return std::move(patches_); }

 private:
  std::span<const std::byte> table_;
  std::uint64_t output_offset_;
  std::size_t begin_ = 0;  ///< in the table, of the last patch
  std::vector<Patch> patches_;
};

std::vector<Patch> fix_symbol_table(const Image& image, const Layout& layout, const Section& symbols,
                                    std::uint64_t output_offset) {
  const auto table = image.bytes_of(symbols);
  TablePatches patches(table, output_offset);
  for (std::size_t at = 0; at + sizeof(Elf64_Sym) <= table.size(); at += sizeof(Elf64_Sym)) {
    const Elf64_Sym symbol = load_symbol(table.subspan(at), image.endian());
    const std::uint32_t old_index = symbol.st_shndx;
    if (old_index == SHN_UNDEF || old_index >= SHN_LORESERVE || old_index >= layout.new_index_of.size()) continue;
    // Fields in file order: st_shndx stands in front of st_value.
    if (layout.new_index_of[old_index] != old_index) {
      patches.set(at + symbol_section_at, static_cast<std::uint16_t>(layout.new_index_of[old_index]), image.endian());
    }
    const std::uint64_t value = symbol.st_value;
    const Section& section = image.sections()[old_index];
    // __ehdr_start belongs to the first section by its index, but not by its value.
    const std::uint64_t delta = layout.sections[layout.new_index_of[old_index]].header.sh_addr - section.header.sh_addr;
    // The code goes on using the old address of a library's mark.
    if (delta != 0 && (holds_address(section.header, value) || value == section.header.sh_addr) &&
        !is_library_mark(image, symbols, symbol))
      patches.set(at + symbol_value_at, value + delta, image.endian());
  }
  return patches.release();
}

/// Words that are section indices: all of an SHT_SYMTAB_SHNDX, all but the first (flags) of an SHT_GROUP.
std::vector<Patch> fix_index_table(const Image& image, const Layout& layout, std::span<const std::byte> table,
                                   std::uint64_t output_offset, std::size_t first) {
  TablePatches patches(table, output_offset);
  for (std::size_t at = first; at + sizeof(std::uint32_t) <= table.size(); at += sizeof(std::uint32_t)) {
    const auto old_index = load<std::uint32_t>(table.subspan(at, sizeof(std::uint32_t)), image.endian());
    if (old_index < layout.new_index_of.size() && layout.new_index_of[old_index] != old_index)
      patches.set(at, layout.new_index_of[old_index], image.endian());
  }
  return patches.release();
}

}  // namespace

std::vector<Patch> fix_symbols(const Image& image, const Layout& layout) {
  std::vector<Patch> all;
  for (const Section& section : image.sections()) {
    const auto table = image.bytes_of(section);
    const std::uint64_t offset = layout.sections[layout.new_index_of[section.index]].header.sh_offset;
    std::vector<Patch> patches;
    if (is_symbol_table(section))
      patches = fix_symbol_table(image, layout, section, offset);
    else if (section.header.sh_type == SHT_SYMTAB_SHNDX)
      patches = fix_index_table(image, layout, table, offset, 0);
    else if (section.header.sh_type == SHT_GROUP)
      patches = fix_index_table(image, layout, table, offset, sizeof(std::uint32_t));
    std::move(patches.begin(), patches.end(), std::back_inserter(all));
  }
  return all;
}

}  // namespace sframe_gen::elf
