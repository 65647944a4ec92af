#include "elf/dynamic_table.hpp"

#include <algorithm>

#include "support/bytes.hpp"

namespace sframe_gen::elf {

std::vector<DynamicEntry> read_dynamic(const Image& image) {
  const Elf64_Phdr* segment = image.find_segment(PT_DYNAMIC);
  if (segment == nullptr) return {};
  const auto bytes = image.slice(segment->p_offset, segment->p_filesz, "PT_DYNAMIC");
  const InputOrigin origin{image.name(), "PT_DYNAMIC"};
  ByteReader reader(bytes, image.endian(), origin);
  std::vector<DynamicEntry> entries;
  while (!reader.at_end()) {
    const std::int64_t tag = reader.i64("tag of a dynamic entry");
    const std::uint64_t value_offset = segment->p_offset + reader.offset();
    const std::uint64_t value = reader.u64("value of a dynamic entry");
    if (tag == DT_NULL) break;
    entries.push_back({tag, value, value_offset});
  }
  return entries;
}

bool is_program(const Image& image) {
  if (image.header().e_type == ET_EXEC || image.find_segment(PT_INTERP) != nullptr) return true;
  return (find_dynamic(read_dynamic(image), DT_FLAGS_1).value_or(0) & DF_1_PIE) != 0;
}

std::optional<std::uint64_t> find_dynamic(const std::vector<DynamicEntry>& entries, std::int64_t tag) {
  const auto found = std::find_if(entries.begin(), entries.end(), [&](const DynamicEntry& e) { return e.tag == tag; });
  return found == entries.end() ? std::nullopt : std::optional(found->value);
}

std::vector<std::int64_t> tags_of_type(std::uint32_t section_type) {
  std::vector<std::int64_t> tags;
  for (const DynamicTable& table : dynamic_tables)
    if (table.section_type == section_type) tags.push_back(table.tag);
  return tags;
}

std::string dynamic_string(const Image& image, const std::vector<DynamicEntry>& entries, std::uint64_t offset) {
  const auto table = find_dynamic(entries, DT_STRTAB);
  if (!table) return {};
  for (const Section& section : image.sections()) {
    if (section.header.sh_type != SHT_STRTAB || section.header.sh_addr != *table) continue;
    const auto strings = image.bytes_of(section);
    if (offset >= strings.size()) return {};
    const auto begin = strings.begin() + static_cast<std::ptrdiff_t>(offset);
    const auto end = std::find(begin, strings.end(), std::byte{0});
    return {reinterpret_cast<const char*>(&*begin), static_cast<std::size_t>(end - begin)};
  }
  return {};
}

std::string soname_of(const Image& image, const std::vector<DynamicEntry>& entries) {
  const auto name = find_dynamic(entries, DT_SONAME);
  return name ? dynamic_string(image, entries, *name) : std::string();
}

}  // namespace sframe_gen::elf
