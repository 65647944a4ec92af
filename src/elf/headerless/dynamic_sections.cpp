#include "elf/headerless/dynamic_sections.hpp"

#include <algorithm>
#include <array>
#include <optional>

#include "elf/dynamic_table.hpp"
#include "elf/load_lookup.hpp"
#include "support/byte_reader.hpp"

namespace sframe_gen::elf {

namespace {

struct Hashes {
  std::uint64_t size = 0;
  std::optional<std::uint64_t> symbols;  ///< of the dynamic symbol table; not told where none of them is defined
};

class DynamicSections {
 public:
  explicit DynamicSections(const Image& image)
      : image_(image), origin_{image.name(), "PT_DYNAMIC"}, dynamic_(read_dynamic(image)) {}

  std::vector<Section> run() {
    std::optional<std::uint64_t> symbols;
    for (const std::int64_t tag : {std::int64_t{DT_GNU_HASH}, std::int64_t{DT_HASH}}) {
      const auto address = find_dynamic(dynamic_, tag);
      if (!address) continue;
      const auto hashes = tag == DT_HASH ? plain_hashes(*address) : gnu_hashes(*address);
      if (!hashes) continue;
      add(tag, hashes->size, 0);
      if (hashes->symbols) symbols = hashes->symbols;
    }
    if (symbols && *symbols <= image_.file_bytes().size() / sizeof(Elf64_Sym)) {
      add(DT_SYMTAB, *symbols * sizeof(Elf64_Sym), sizeof(Elf64_Sym));
      add(DT_VERSYM, *symbols * sizeof(Elf64_Half), sizeof(Elf64_Half));
    }
    add(DT_STRTAB, size_by(DT_STRSZ), 0);
    add(dynamic_tag_relr, size_by(dynamic_tag_relr_size), sizeof(std::uint64_t));
    add_relocations();
    return std::move(sections_);
  }

 private:
  std::uint64_t size_by(std::int64_t tag) const { return find_dynamic(dynamic_, tag).value_or(0); }

  void add(std::int64_t tag, std::uint64_t size, std::uint64_t entry_size) {
    const DynamicTable& table = *std::ranges::find(dynamic_tables, tag, &DynamicTable::tag);
    const std::uint32_t type = table.section_type;
    const auto address = find_dynamic(dynamic_, tag);
    if (!address || size == 0) return;
    const auto bytes = loaded_bytes(image_, *address, size);
    if (bytes.empty()) return;
    // As the address allows: no table has more than 8, and a higher one than the linker's harms nothing.
    const std::uint64_t alignment = type == SHT_STRTAB ? 1 : type == SHT_GNU_versym ? 2 : *address % 8 == 0 ? 8 : 4;
    sections_.push_back({{0, type, SHF_ALLOC, *address, offset_of(image_, bytes), size, 0, 0, alignment, entry_size},
                         table.section_name,
                         0});
  }

  /// Some linkers let DT_RELASZ count the PLT's relocations as well; their sections are two all the same.
  void add_relocations() {
    if (find_dynamic(dynamic_, DT_PLTREL).value_or(DT_RELA) != DT_RELA) return;
    std::uint64_t size = size_by(DT_RELASZ);
    const auto table = find_dynamic(dynamic_, DT_RELA);
    const auto of_plt = find_dynamic(dynamic_, DT_JMPREL);
    if (table && of_plt && *of_plt > *table && *of_plt - *table < size) size = *of_plt - *table;
    if (!table || table != of_plt) add(DT_RELA, size, sizeof(Elf64_Rela));
    add(DT_JMPREL, size_by(DT_PLTRELSZ), sizeof(Elf64_Rela));
  }

  /// gABI, chapter 5, "Hash Table". The s390x psABI has words of 8 bytes.
  std::optional<Hashes> plain_hashes(std::uint64_t address) const {
    const std::uint64_t word = image_.header().e_machine == EM_S390 ? 8 : 4;
    const auto bytes = loaded_bytes(image_, address, 2 * word);
    if (bytes.empty()) return {};
    ByteReader reader(bytes, image_.endian(), origin_);
    const auto read = [&] { return word == 8 ? reader.u64("count") : reader.u32("count"); };
    const std::uint64_t buckets = read();
    const std::uint64_t chains = read();
    const std::uint64_t most = image_.file_bytes().size() / word;
    if (buckets > most || chains > most) return {};
    return Hashes{(2 + buckets + chains) * word, chains};
  }

  /// Buckets name the first symbol of a chain each; the last symbol of all ends the last chain, which says so in its
  /// lowest bit.
  std::optional<Hashes> gnu_hashes(std::uint64_t address) const {
    constexpr std::uint64_t header_size = 16;
    constexpr std::uint64_t word = 4;
    const auto bytes = loaded_bytes_from(image_, address);
    if (bytes.size() < header_size) return {};
    ByteReader reader(bytes, image_.endian(), origin_);
    const std::uint64_t buckets = reader.u32("number of buckets");
    const std::uint64_t first = reader.u32("first symbol");
    const std::uint64_t filter = reader.u32("size of the filter") * std::uint64_t{8};
    reader.u32("shift");
    if (filter + buckets * word > reader.left()) return {};
    reader.take(filter, "filter");
    std::uint64_t last = 0;
    for (std::uint64_t i = 0; i < buckets; ++i) last = std::max<std::uint64_t>(last, reader.u32("bucket"));
    if (last == 0) return Hashes{reader.offset(), if_table_follows(first)};
    if (last < first || (last - first) > reader.left() / word) return {};
    reader.take((last - first) * word, "chains");
    for (++last; reader.left() >= word; ++last)
      if (reader.u32("chain") % 2 != 0) return Hashes{reader.offset(), last};
    return {};
  }

  /// Where no symbol is hashed, lld says how many there are, and GNU ld says 1. It is true if another table follows.
  std::optional<std::uint64_t> if_table_follows(std::uint64_t symbols) const {
    const auto table = find_dynamic(dynamic_, DT_SYMTAB);
    constexpr std::array tags{std::int64_t{DT_GNU_HASH}, std::int64_t{DT_HASH}, std::int64_t{DT_STRTAB},
                              std::int64_t{DT_VERSYM},   std::int64_t{DT_RELA}, dynamic_tag_relr};
    const bool follows = table && std::any_of(tags.begin(), tags.end(), [&](std::int64_t tag) {
                           return find_dynamic(dynamic_, tag) == *table + symbols * sizeof(Elf64_Sym);
                         });
    return follows ? std::optional(symbols) : std::nullopt;
  }

  const Image& image_;
  Origin origin_;
  std::vector<DynamicEntry> dynamic_;
  std::vector<Section> sections_;
};

}  // namespace

std::vector<Section> dynamic_sections(const Image& image) {
  if (image.find_segment(PT_DYNAMIC) == nullptr) return {};
  return DynamicSections(image).run();
}

}  // namespace sframe_gen::elf
