#include "elf/symbol_names.hpp"

#include <algorithm>

#include "support/byte_reader.hpp"

namespace sframe_gen::elf {

namespace {

std::string text_at(std::span<const std::byte> strings, std::uint64_t offset) {
  if (offset >= strings.size()) return {};
  const auto begin = strings.begin() + static_cast<std::ptrdiff_t>(offset);
  const auto end = std::find(begin, strings.end(), std::byte{0});
  return {reinterpret_cast<const char*>(strings.data()) + offset, static_cast<std::size_t>(end - begin)};
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

SymbolNames::SymbolNames(const Image& image) {
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
  const auto strings = image.bytes_of(image.sections()[table->header.sh_link]);
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
      symbols_.push_back({value, value + std::max<std::uint64_t>(size, 1), text_at(strings, name)});
  }
  std::stable_sort(symbols_.begin(), symbols_.end(),
                   [](const Symbol& a, const Symbol& b) { return a.begin < b.begin; });
}

std::string SymbolNames::name_at(std::uint64_t address) const {
  auto it = std::upper_bound(symbols_.begin(), symbols_.end(), address,
                             [](std::uint64_t a, const Symbol& s) { return a < s.begin; });
  // Aliases and inner labels stand before; the first whose size reaches the address is the one meant.
  for (int tries = 0; it != symbols_.begin() && tries < 16; ++tries) {
    --it;
    if (address < it->end) return it->name;
  }
  return {};
}

}  // namespace sframe_gen::elf
