#include "elf/content_check.hpp"

#include <algorithm>
#include <optional>
#include <set>
#include <vector>

#include "elf/alignment.hpp"
#include "elf/dynamic_table.hpp"
#include "elf/name_of.hpp"
#include "support/text.hpp"

namespace sframe_gen::elf {

namespace {

/// Larger sections that kept their address are not compared in everyday runs.
constexpr std::uint64_t small_section = 0x10000;

class SectionCheck {
 public:
  SectionCheck(const Image& input, const Image& output) : in_(input), out_(output) {}

  void run(Contents contents) {
    pair_up();
    for (const Section& old : in_.sections()) check_one(old, contents);
    check_space();
    check_order();
  }

 private:
  void require(bool holds, const std::string& rule) const {
    if (!holds) throw LayoutViolation(in_.name(), rule);
  }

  /// The output has the input's sections and .sframe. What did not move stands in the same order, so walking both
  /// tables finds the pairs; what moved is found by its name and size.
  void pair_up() {
    partner_.assign(in_.sections().size(), std::nullopt);
    std::set<std::uint32_t> taken;
    const auto pair = [&](auto&& matches) {
      std::uint32_t next = 0;
      for (const Section& old : in_.sections()) {
        if (partner_[old.index]) continue;
        for (std::uint32_t i = next; i < out_.sections().size(); ++i) {
          if (taken.contains(i) || !matches(old, out_.sections()[i])) continue;
          partner_[old.index] = i;
          taken.insert(i);
          next = i + 1;
          break;
        }
      }
    };
    pair([](const Section& a, const Section& b) {
      return a.name == b.name && a.name != sframe_section_name && a.header.sh_addr == b.header.sh_addr &&
             a.header.sh_type == b.header.sh_type && a.header.sh_flags == b.header.sh_flags;
    });
    for (const Section& old : in_.sections()) {
      if (partner_[old.index]) continue;
      for (const Section& now : out_.sections()) {
        if (taken.contains(now.index) || old.name != now.name) continue;
        partner_[old.index] = now.index;
        taken.insert(now.index);
        break;
      }
      require(partner_[old.index].has_value(), describe(old) + " must be kept");
    }
    const bool had_sframe = in_.find_section(sframe_section_name) != nullptr;
    require(out_.sections().size() == in_.sections().size() + (had_sframe ? 0 : 1),
            "no section but .sframe may be added");
  }

  static bool may_move(const Section& section) {
    return section.name == ".interp" || section.header.sh_type == SHT_NOTE || !moves_with(section).empty();
  }

  static std::vector<std::int64_t> moves_with(const Section& section) {
    switch (section.header.sh_type) {
      case SHT_GNU_HASH:
        return {DT_GNU_HASH};
      case SHT_HASH:
        return {DT_HASH};
      case SHT_DYNSYM:
        return {DT_SYMTAB};
      case SHT_STRTAB:
        return {DT_STRTAB};
      case SHT_GNU_versym:
        return {DT_VERSYM};
      case SHT_GNU_verdef:
        return {DT_VERDEF};
      case SHT_GNU_verneed:
        return {DT_VERNEED};
      case SHT_RELA:
        return {DT_RELA, DT_JMPREL};
      case 19:  // SHT_RELR
        return {36};
      default:
        return {};
    }
  }

  void check_one(const Section& old, Contents contents) const {
    if (old.name == sframe_section_name) return;
    const Section& now = out_.sections()[*partner_[old.index]];
    const Elf64_Shdr& a = old.header;
    const Elf64_Shdr& b = now.header;
    const std::string name = describe(old);
    const bool is_names = old.index == in_.section_name_table_index();
    require(a.sh_type == b.sh_type && a.sh_flags == b.sh_flags && a.sh_addralign == b.sh_addralign &&
                a.sh_entsize == b.sh_entsize && (a.sh_size == b.sh_size || is_names),
            name + " must keep its header");
    check_links(old, now);
    const bool moved = a.sh_addr != b.sh_addr;
    require(!moved || may_move(old), name + " must keep its address");
    if ((a.sh_flags & SHF_ALLOC) != 0 && a.sh_type != SHT_NOBITS && a.sh_size != 0) check_loaded(old, now);
    if (moved) {
      require(b.sh_addr % std::max<std::uint64_t>(b.sh_addralign, 1) == 0, name + " must stay aligned");
      check_dynamic_pointer(old, now);
    }
    if (is_names) return;
    if (contents == Contents::All || moved || a.sh_size <= small_section) check_bytes(old, now);
  }

  void check_links(const Section& old, const Section& now) const {
    const auto follows = [&](std::uint32_t was, std::uint32_t is) {
      return was < partner_.size() && (was != 0) ? partner_[was] == is : was == is;
    };
    if (old.header.sh_type == SHT_NULL) return;
    require(follows(old.header.sh_link, now.header.sh_link), describe(old) + " must keep its link");
    const bool is_index =
        old.header.sh_type == SHT_REL || old.header.sh_type == SHT_RELA || (old.header.sh_flags & SHF_INFO_LINK) != 0;
    require(is_index ? follows(old.header.sh_info, now.header.sh_info) : old.header.sh_info == now.header.sh_info,
            describe(old) + " must keep what it describes");
  }

  static bool agrees(const Elf64_Phdr& load, const Elf64_Shdr& header) {
    return load.p_type == PT_LOAD && header.sh_addr >= load.p_vaddr &&
           header.sh_addr + header.sh_size <= load.p_vaddr + load.p_memsz &&
           header.sh_addr - load.p_vaddr == header.sh_offset - load.p_offset;
  }

  static bool is_loaded(const Image& image, const Section& section) {
    return std::any_of(image.segments().begin(), image.segments().end(),
                       [&](const Elf64_Phdr& segment) { return agrees(segment, section.header); });
  }

  void check_loaded(const Section& old, const Section& now) const {
    require(is_loaded(out_, now) || !is_loaded(in_, old), describe(now) + " must be loaded at its address");
  }

  void check_dynamic_pointer(const Section& old, const Section& now) const {
    const auto tags = moves_with(old);
    const auto before = read_dynamic(in_);
    const auto after = read_dynamic(out_);
    require(before.size() == after.size(), "PT_DYNAMIC must keep its entries");
    for (std::size_t i = 0; i < before.size(); ++i) {
      if (std::find(tags.begin(), tags.end(), before[i].tag) == tags.end()) continue;
      if (before[i].value == old.header.sh_addr)
        require(after[i].value == now.header.sh_addr, "PT_DYNAMIC must name " + describe(now) + "'s new address");
    }
  }

  void check_bytes(const Section& old, const Section& now) const {
    const auto a = in_.bytes_of(old);
    const auto b = out_.bytes_of(now);
    require(a.size() == b.size(), describe(old) + " must keep its size");
    switch (old.header.sh_type) {
      case SHT_SYMTAB:
      case SHT_DYNSYM:
        return check_symbols(a, b, describe(old));
      case SHT_DYNAMIC:
        return check_dynamic_entries();
      case SHT_GROUP:
      case SHT_SYMTAB_SHNDX:
        return;
      default:
        require(std::equal(a.begin(), a.end(), b.begin()), describe(old) + " must keep its bytes");
    }
  }

  void check_symbols(std::span<const std::byte> a, std::span<const std::byte> b, const std::string& name) const {
    const auto value = [&](std::span<const std::byte> bytes, std::size_t at) {
      return load<std::uint64_t>(bytes.subspan(at, 8), in_.endian());
    };
    for (std::size_t at = 0; at + sizeof(Elf64_Sym) <= a.size(); at += sizeof(Elf64_Sym)) {
      const auto index = [&](std::span<const std::byte> bytes) {
        return load<std::uint16_t>(bytes.subspan(at + offsetof(Elf64_Sym, st_shndx), 2), in_.endian());
      };
      // Name, type and visibility: the six bytes in front of the index; and the size.
      require(std::equal(a.begin() + static_cast<std::ptrdiff_t>(at), a.begin() + static_cast<std::ptrdiff_t>(at) + 6,
                         b.begin() + static_cast<std::ptrdiff_t>(at)) &&
                  value(a, at + offsetof(Elf64_Sym, st_size)) == value(b, at + offsetof(Elf64_Sym, st_size)),
              "symbols of " + name + " must keep their name, type and size");
      const bool in_section = index(a) != SHN_UNDEF && index(a) < SHN_LORESERVE && index(a) < partner_.size();
      require(in_section ? partner_[index(a)] == index(b) : index(a) == index(b),
              "symbols of " + name + " must keep their section");
      const std::uint64_t moved =
          value(b, at + offsetof(Elf64_Sym, st_value)) - value(a, at + offsetof(Elf64_Sym, st_value));
      if (moved == 0) continue;
      require(in_section && moved == out_.sections()[index(b)].header.sh_addr - in_.sections()[index(a)].header.sh_addr,
              "symbols of " + name + " must move with their section");
    }
  }

  void check_dynamic_entries() const {
    const auto before = read_dynamic(in_);
    const auto after = read_dynamic(out_);
    require(before.size() == after.size(), "PT_DYNAMIC must keep its entries");
    for (std::size_t i = 0; i < before.size(); ++i) {
      const bool follows = std::any_of(in_.sections().begin(), in_.sections().end(), [&](const Section& old) {
        const Section& now = out_.sections()[*partner_[old.index]];
        return old.header.sh_addr == before[i].value && now.header.sh_addr == after[i].value;
      });
      require(before[i].tag == after[i].tag && (before[i].value == after[i].value || follows),
              "PT_DYNAMIC must keep its entries");
    }
  }

  /// Nothing that did not overlap before may do so now.
  void check_space() const {
    struct Item {
      FileRange range;
      std::string name;
      std::optional<std::uint32_t> old;
    };
    std::vector<Item> items;
    items.push_back({{0, sizeof(Elf64_Ehdr) + out_.segments().size() * sizeof(Elf64_Phdr)}, "the headers", {}});
    const std::uint64_t table = out_.header().e_shoff;
    items.push_back({{table, table + out_.sections().size() * sizeof(Elf64_Shdr)}, "the section header table", {}});
    for (const Section& section : out_.sections()) {
      const std::uint64_t size = out_.bytes_of(section).size();
      if (size == 0) continue;
      const auto partner = std::find(partner_.begin(), partner_.end(), section.index);
      std::optional<std::uint32_t> old;
      if (partner != partner_.end()) old = static_cast<std::uint32_t>(partner - partner_.begin());
      items.push_back({{section.header.sh_offset, section.header.sh_offset + size}, describe(section), old});
    }
    std::sort(items.begin(), items.end(), [](const Item& a, const Item& b) { return a.range.begin < b.range.begin; });
    for (std::size_t i = 1; i < items.size(); ++i) {
      const Item& a = items[i - 1];
      const Item& b = items[i];
      if (!a.range.overlaps(b.range)) continue;
      require(a.old && b.old && overlapped(*a.old, *b.old), a.name + " and " + b.name + " must not overlap");
    }
  }

  bool overlapped(std::uint32_t a, std::uint32_t b) const {
    const auto range = [&](std::uint32_t index) {
      const Elf64_Shdr& header = in_.sections()[index].header;
      return FileRange{header.sh_offset, header.sh_offset + header.sh_size};
    };
    return range(a).overlaps(range(b));
  }

  static bool is_sorted(const Image& image) {
    std::uint64_t previous = 0;
    bool sorted = true;
    bool unallocated = false;
    for (const Section& section : image.sections()) {
      const bool allocated = (section.header.sh_flags & SHF_ALLOC) != 0;
      const bool is_space = (section.header.sh_flags & SHF_TLS) != 0 && section.header.sh_type == SHT_NOBITS;
      if (allocated) sorted = sorted && !unallocated && (is_space || section.header.sh_addr >= previous);
      if (allocated && !is_space) previous = section.header.sh_addr;
      unallocated = unallocated || (!allocated && section.header.sh_type != SHT_NULL);
    }
    return sorted;
  }

  void check_order() const {
    require(is_sorted(out_) || !is_sorted(in_), "section headers must be sorted by address");
    require(out_.section_name_table_index() < out_.sections().size() &&
                partner_[in_.section_name_table_index()] == out_.section_name_table_index(),
            "section names must stay in their table");
  }

  const Image& in_;
  const Image& out_;
  std::vector<std::optional<std::uint32_t>> partner_;  ///< index in the output, by index in the input
};

}  // namespace

void check_sections(const Image& input, const Image& output, Contents contents) {
  SectionCheck(input, output).run(contents);
}

}  // namespace sframe_gen::elf
