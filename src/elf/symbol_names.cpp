#include "elf/symbol_names.hpp"

#include <algorithm>
#include <string_view>

#include "support/byte_reader.hpp"

namespace sframe_gen::elf {

namespace {

/// No more of it than `most` bytes.
std::string_view text_at(std::span<const std::byte> strings, std::uint64_t offset, std::uint64_t most) {
  if (offset >= strings.size()) return {};
  const auto rest = strings.subspan(offset, std::min<std::uint64_t>(strings.size() - offset, most));
  const auto end = std::find(rest.begin(), rest.end(), std::byte{0});
  return {reinterpret_cast<const char*>(rest.data()), static_cast<std::size_t>(end - rest.begin())};
}

const Section* symbol_section(const Image& image) {
  for (const std::uint32_t type : {std::uint32_t{SHT_SYMTAB}, std::uint32_t{SHT_DYNSYM}}) {
    for (const Section& section : image.sections()) {
      if (section.header.sh_type == type) return &section;
    }
  }
  return nullptr;
}

}  // namespace

SymbolNames::SymbolNames(const Image& image) : budget_(image.file_bytes().size()) {
  try {
    read(image);
  } catch (const Failure&) {
    symbols_.clear();
  }
}

void SymbolNames::read(const Image& image) {
  const Section* const table = symbol_section(image);
  if (table == nullptr || table->header.sh_link >= image.sections().size()) return;
  const Origin origin{image.name(), table->name};
  strings_ = image.bytes_of(image.sections()[table->header.sh_link]);
  ByteReader reader(image.bytes_of(*table), image.endian(), origin);
  while (reader.left() >= sizeof(Elf64_Sym)) {
    const std::uint32_t name = reader.u32("symbol name");
    const unsigned type = ELF64_ST_TYPE(reader.u8("symbol info"));
    reader.u8("symbol visibility");
    const std::uint16_t section = reader.u16("symbol section");
    std::uint64_t value = reader.u64("symbol value");
    // An object's symbols count from their sections.
    if (image.is_object() && section < image.sections().size()) value += image.sections()[section].header.sh_addr;
    const std::uint64_t size = reader.u64("symbol size");
    const bool function = (type == STT_FUNC || type == STT_GNU_IFUNC || type == STT_NOTYPE) && section != SHN_UNDEF;
    if (function && name != 0 && value != 0)
      symbols_.push_back({value, value + std::max<std::uint64_t>(size, 1), name});
  }
  std::stable_sort(symbols_.begin(), symbols_.end(),
                   [](const Symbol& a, const Symbol& b) { return a.begin < b.begin; });
}

std::string SymbolNames::name_at(std::uint64_t address) {
  auto it = std::upper_bound(symbols_.begin(), symbols_.end(), address,
                             [](std::uint64_t a, const Symbol& s) { return a < s.begin; });
  // Aliases and inner labels stand before; the first whose size reaches the address is the one meant.
  for (int tries = 0; it != symbols_.begin() && tries < 16; ++tries) {
    --it;
    if (address >= it->end) continue;
    const std::string_view name = text_at(strings_, it->name, budget_.left() + 1);
    return budget_.take(name.size()) ? std::string(name) : std::string();
  }
  return {};
}

}  // namespace sframe_gen::elf
