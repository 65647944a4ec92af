#include "elf/undo/index_tables.hpp"

#include <algorithm>

#include "elf/records.hpp"

namespace sframe_gen::elf {

namespace {

/// By the new index. What has no old one stands for itself.
std::vector<std::uint32_t> invert(const std::vector<std::uint32_t>& new_index_of) {
  std::uint32_t count = 0;
  for (const std::uint32_t index : new_index_of) count = std::max(count, index < SHN_LORESERVE ? index + 1 : 0);
  std::vector<std::uint32_t> old_index_of(count);
  for (std::uint32_t i = 0; i < count; ++i) old_index_of[i] = i;
  for (std::uint32_t i = 0; i < new_index_of.size(); ++i)
    if (new_index_of[i] < count) old_index_of[new_index_of[i]] = i;
  return old_index_of;
}

template <typename Index>
void restore_each(std::span<std::byte> table, std::size_t first, std::size_t step, Endian endian,
                  const std::vector<std::uint32_t>& old_index_of) {
  for (std::size_t at = first; at + sizeof(Index) <= table.size(); at += step) {
    const auto place = table.subspan(at, sizeof(Index));
    const auto index = load<Index>(place, endian);
    if (index < old_index_of.size() && old_index_of[index] != index)
      store<Index>(place, static_cast<Index>(old_index_of[index]), endian);
  }
}

}  // namespace

bool has_section_indices(std::uint32_t section_type) {
  return section_type == SHT_SYMTAB || section_type == SHT_DYNSYM || section_type == SHT_SYMTAB_SHNDX ||
         section_type == SHT_GROUP;
}

void restore_section_indices(std::span<std::byte> table, std::uint32_t section_type, Endian endian,
                             const std::vector<std::uint32_t>& new_index_of) {
  const std::vector<std::uint32_t> old_index_of = invert(new_index_of);
  if (section_type == SHT_SYMTAB || section_type == SHT_DYNSYM)
    return restore_each<std::uint16_t>(table, symbol_section_at, sizeof(Elf64_Sym), endian, old_index_of);
  // A group's first word holds flags.
  const std::size_t first = section_type == SHT_GROUP ? sizeof(std::uint32_t) : 0;
  restore_each<std::uint32_t>(table, first, sizeof(std::uint32_t), endian, old_index_of);
}

}  // namespace sframe_gen::elf
