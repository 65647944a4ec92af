#include "elf/check/content_check.hpp"

#include <algorithm>
#include <vector>

#include "elf/check/section_check.hpp"
#include "elf/dynamic_table.hpp"
#include "elf/machine.hpp"
#include "elf/records.hpp"
#include "support/bytes.hpp"
#include "support/text.hpp"

namespace sframe_gen::elf {

namespace {

/// Larger sections that kept their address are not compared in everyday runs.
constexpr std::uint64_t small_section = 0x10000;

class SectionCheck {
 public:
  SectionCheck(const Image& input, const Image& output, const SectionPairs& pairs, const NewSection& added)
      : in_(input), out_(output), partner_(pairs), added_(added) {}

  void run(Contents contents) {
    for (const Section& old : in_.sections()) check_one(old, contents);
  }

 private:
  void require(bool holds, const char* rule) const {
    if (!holds) throw LayoutViolation(in_.name(), rule);
  }
  /// Makes the message only on failure: it costs more than the rule.
  void require_of(const Section& section, bool holds, const char* rule) const {
    if (!holds) throw LayoutViolation(in_.name(), describe(section) + ' ' + rule);
  }

  static bool may_move(const Section& section) {
    return section.name == ".interp" || section.header.sh_type == SHT_NOTE || !pointers_to(section).empty();
  }

  void check_one(const Section& old, Contents contents) const {
    if (old.name == added_.name || old.name == added_.undo_name) return;
    const Section& now = out_.sections()[partner_[old.index]];
    const Elf64_Shdr& a = old.header;
    const Elf64_Shdr& b = now.header;
    const bool is_names = old.index == in_.section_name_table_index();
    require_of(old,
               a.sh_type == b.sh_type && a.sh_flags == b.sh_flags && a.sh_addralign == b.sh_addralign &&
                   a.sh_entsize == b.sh_entsize && (a.sh_size == b.sh_size || is_names),
               "must keep its header");
    check_links(old, now);
    const bool moved = a.sh_addr != b.sh_addr;
    require_of(old, !moved || may_move(old), "must keep its address");
    if ((a.sh_flags & SHF_ALLOC) != 0 && a.sh_type != SHT_NOBITS && a.sh_size != 0) check_loaded(old, now);
    if (moved) {
      require_of(old, b.sh_addr % std::max<std::uint64_t>(b.sh_addralign, 1) == 0, "must stay aligned");
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
    require_of(old, follows(old.header.sh_link, now.header.sh_link), "must keep its link");
    const bool is_index =
        old.header.sh_type == SHT_REL || old.header.sh_type == SHT_RELA || (old.header.sh_flags & SHF_INFO_LINK) != 0;
    require_of(old,
               is_index ? follows(old.header.sh_info, now.header.sh_info) : old.header.sh_info == now.header.sh_info,
               "must keep what it describes");
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
    require_of(now, is_loaded(out_, now) || !is_loaded(in_, old), "must be loaded at its address");
  }

  void check_dynamic_pointer(const Section& old, const Section& now) const {
    const auto tags = pointers_to(old);
    const auto before = read_dynamic(in_);
    const auto after = read_dynamic(out_);
    require(before.size() == after.size(), "PT_DYNAMIC must keep its entries");
    for (std::size_t i = 0; i < before.size(); ++i) {
      if (std::find(tags.begin(), tags.end(), before[i].tag) == tags.end()) continue;
      if (before[i].value == old.header.sh_addr && after[i].value != now.header.sh_addr)
        throw LayoutViolation(in_.name(), "PT_DYNAMIC must name " + describe(now) + "'s new address");
    }
  }

  void check_bytes(const Section& old, const Section& now) const {
    const auto a = in_.bytes_of(old);
    const auto b = out_.bytes_of(now);
    require_of(old, a.size() == b.size(), "must keep its size");
    switch (old.header.sh_type) {
      case SHT_SYMTAB:
      case SHT_DYNSYM:
        return check_symbols(a, b, old);
      case SHT_DYNAMIC:
        return check_dynamic_entries();
      case SHT_GROUP:
      case SHT_SYMTAB_SHNDX:
        return;
      default:
        require_of(old, equal_bytes(a, b), "must keep its bytes");
    }
  }

  void check_symbols(std::span<const std::byte> a, std::span<const std::byte> b, const Section& table) const {
    const auto require_of_symbols = [&](bool holds, const char* what) {
      if (!holds) throw LayoutViolation(in_.name(), "symbols of " + describe(table) + " must " + what);
    };
    const auto value = [&](std::span<const std::byte> bytes, std::size_t at) {
      return load<std::uint64_t>(bytes.subspan(at, 8), in_.endian());
    };
    for (std::size_t at = 0; at + sizeof(Elf64_Sym) <= a.size(); at += sizeof(Elf64_Sym)) {
      const auto index = [&](std::span<const std::byte> bytes) {
        return load<std::uint16_t>(bytes.subspan(at + offsetof(Elf64_Sym, st_shndx), 2), in_.endian());
      };
      // Name, type and visibility: the six bytes in front of the index; and the size.
      require_of_symbols(equal_bytes(a.subspan(at, 6), b.subspan(at, 6)) &&
                             value(a, at + offsetof(Elf64_Sym, st_size)) == value(b, at + offsetof(Elf64_Sym, st_size)),
                         "keep their name, type and size");
      const bool in_section = index(a) != SHN_UNDEF && index(a) < SHN_LORESERVE && index(a) < partner_.size();
      require_of_symbols(in_section ? partner_[index(a)] == index(b) : index(a) == index(b), "keep their section");
      const std::uint64_t moved =
          value(b, at + offsetof(Elf64_Sym, st_value)) - value(a, at + offsetof(Elf64_Sym, st_value));
      if (moved == 0) continue;
      require_of_symbols(
          in_section && moved == out_.sections()[index(b)].header.sh_addr - in_.sections()[index(a)].header.sh_addr,
          "move with their section");
    }
  }

  void check_dynamic_entries() const {
    const auto before = read_dynamic(in_);
    const auto after = read_dynamic(out_);
    require(before.size() == after.size(), "PT_DYNAMIC must keep its entries");
    for (std::size_t i = 0; i < before.size(); ++i) {
      const bool follows = std::any_of(in_.sections().begin(), in_.sections().end(), [&](const Section& old) {
        const Section& now = out_.sections()[partner_[old.index]];
        return old.header.sh_addr == before[i].value && now.header.sh_addr == after[i].value;
      });
      require(before[i].tag == after[i].tag && (before[i].value == after[i].value || follows),
              "PT_DYNAMIC must keep its entries");
    }
  }

  const Image& in_;
  const Image& out_;
  const SectionPairs& partner_;
  const NewSection& added_;
};

}  // namespace

/// As dynamic_table.hpp has it, on purpose a second time: a tag that the plan took for another table's would otherwise
/// pass here as well. The fields of symbols are read here in their own way for the same reason.
std::vector<std::int64_t> pointers_to(const Section& section) {
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
    case section_type_relr:
      return {dynamic_tag_relr};
    default:
      return {};
  }
}

void check_sections(const Image& input, const Image& output, Contents contents, const NewSection& added) {
  const SectionPairs pairs = pair_sections(input, output, added);
  SectionCheck(input, output, pairs, added).run(contents);
  check_section_addresses(input, output, pairs, added);
  check_section_order(input, output, pairs);
}

}  // namespace sframe_gen::elf
