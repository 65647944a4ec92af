#include "rewrite/check/section_check.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "elf/dynamic_table.hpp"
#include "elf/machine.hpp"
#include "elf/notes.hpp"
#include "elf/records.hpp"
#include "support/bytes.hpp"
#include "support/text.hpp"

namespace sframe_gen::rewrite {

namespace {

/// Returns the tags in PT_DYNAMIC that point to a section of this type. dynamic_table.hpp has the same, on purpose: a
/// tag that the plan took for another table's would otherwise pass here as well. The fields of symbols are read here in
/// their own way for the same reason.
std::vector<std::int64_t> pointers_to(const elf::Section& section) {
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
    case elf::section_type_relr:
      return {elf::dynamic_tag_relr};
    default:
      return {};
  }
}

/// PT_DYNAMIC keeps its entries, but for those that name a table whose address, as `address_now` has it, is another.
template <typename AddressNow>
void check_dynamic(const elf::Image& input, const elf::Image& output, AddressNow address_now) {
  const auto before = elf::read_dynamic(input), after = elf::read_dynamic(output);
  std::map<std::pair<std::int64_t, std::uint64_t>, std::uint64_t> expected;  // address by tag and old address
  for (const elf::Section& old : input.sections())
    for (const std::int64_t tag : old.header.sh_size == 0 ? std::vector<std::int64_t>() : pointers_to(old))
      expected[{tag, old.header.sh_addr}] = address_now(old);
  bool are_kept = before.size() == after.size();
  for (std::size_t i = 0; are_kept && i < before.size(); ++i) {
    const auto moved = expected.find({before[i].tag, before[i].value});
    are_kept =
        after[i].tag == before[i].tag && after[i].value == (moved == expected.end() ? before[i].value : moved->second);
  }
  if (!are_kept) throw LayoutViolation(input.name(), "PT_DYNAMIC must keep its entries");
}

/// Index in the output, by index in the input; those of the added sections are of no use.
using SectionPairs = std::vector<std::uint32_t>;

/// Pairs the sections of both files: the output has the input's and `added`, with its record for undoing. Throws
/// LayoutViolation if a section is missing or new.
SectionPairs pair_sections(const elf::Image& input, const elf::Image& output, const elf::NewSection& added) {
  SectionPairs partner(input.sections().size());
  std::vector<bool> is_found(input.sections().size()), is_taken(output.sections().size());
  const auto pair = [&](const elf::Section& old, const elf::Section& now) {
    partner[old.index] = now.index;
    is_found[old.index] = is_taken[now.index] = true;
  };
  // What did not move stands in the same order in both.
  auto next = output.sections().begin();
  for (const elf::Section& old : input.sections()) {
    const auto now = std::find_if(next, output.sections().end(), [&](const elf::Section& other) {
      return old.name == other.name && old.name != added.name && old.name != added.undo_name &&
             old.header.sh_addr == other.header.sh_addr && old.header.sh_type == other.header.sh_type &&
             old.header.sh_flags == other.header.sh_flags;
    });
    if (now == output.sections().end()) continue;
    pair(old, *now);
    next = now + 1;
  }
  for (const elf::Section& old : input.sections()) {
    if (is_found[old.index]) continue;
    const auto now = std::ranges::find_if(
        output.sections(), [&](const elf::Section& other) { return !is_taken[other.index] && old.name == other.name; });
    if (now == output.sections().end()) throw LayoutViolation(input.name(), elf::describe(old) + " must be kept");
    pair(old, *now);
  }
  std::size_t count = input.sections().size();
  if (input.find_section(added.name) == nullptr) ++count;
  if (added.keeps_undo_record && input.find_section(added.undo_name) == nullptr) ++count;
  if (input.find_section(elf::old_headers_name) == nullptr && output.find_section(elf::old_headers_name) != nullptr)
    ++count;
  if (output.sections().size() != count) {
    throw LayoutViolation(input.name(), "no section but " + std::string(added.name) + " and " +
                                            std::string(added.undo_name) + " may be added");
  }
  return partner;
}

/// Larger sections that kept their address are not compared in everyday runs.
constexpr std::uint64_t small_section = 0x10000;

Range addresses_of(const Elf64_Shdr& header) {
  return {header.sh_addr, header.sh_addr + header.sh_size};
}

class SectionCheck {
 public:
  SectionCheck(const elf::Image& input, const elf::Image& output, const SectionPairs& pairs,
               const elf::NewSection& added)
      : in_(input), out_(output), partner_(pairs), added_(added) {}

  void run(Contents contents) {
    check_note_functions();
    for (const elf::Section& old : in_.sections()) check_one(old, contents);
    check_dynamic(in_, out_,
                  [&](const elf::Section& old) { return out_.sections()[partner_[old.index]].header.sh_addr; });
  }

 private:
  /// Makes the message only on failure: it costs more than the rule.
  void require_of(const elf::Section& section, bool holds, const char* rule) const {
    if (!holds) throw LayoutViolation(in_.name(), elf::describe(section) + ' ' + rule);
  }

  static bool may_move(const elf::Section& section) {
    return section.name == ".interp" || section.header.sh_type == SHT_NOTE || !pointers_to(section).empty();
  }

  void check_one(const elf::Section& old, Contents contents) const {
    if (old.name == added_.name || old.name == added_.undo_name) return;
    const elf::Section& now = out_.sections()[partner_[old.index]];
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
    require_of(old, !moved || b.sh_addr % std::max<std::uint64_t>(b.sh_addralign, 1) == 0, "must stay aligned");
    if (is_names) return;
    if (contents == Contents::All || moved || a.sh_size <= small_section) check_bytes(old, now);
  }

  /// Where a plugin of Qt says its note is, in its own code: four bytes that change when the note moves. They are in
  /// qt_plugin_query_metadata_v2, which begins with lea, or with endbr64 and lea. plan/movable.cpp knows it by itself.
  void check_note_functions() {
    for (const elf::Section& old : in_.sections()) {
      const std::uint64_t moved = out_.sections()[partner_[old.index]].header.sh_addr - old.header.sh_addr;
      if (old.header.sh_type != SHT_NOTE || moved == 0 || !is_qt_note(old)) continue;
      const auto place = place_of_qt_function();
      require_of(old, place.has_value(), "must stay where no function says its place");
      const auto distance = [&](const elf::Image& image, const elf::Section& section) {
        return load<std::uint32_t>(image.bytes_of(section).subspan(place->second), image.endian());
      };
      const elf::Section& code = in_.sections()[place->first];
      const std::uint32_t was = distance(in_, code);
      const std::uint32_t is = distance(out_, out_.sections()[partner_[code.index]]);
      const std::uint64_t led_to = code.header.sh_addr + place->second + sizeof was + sign_extended(was);
      require_of(old, addresses_of(old.header).contains(led_to) && sign_extended(is) == sign_extended(was) + moved,
                 "must be where its function says");
      changed_code_ = place;
    }
  }

  static std::uint64_t sign_extended(std::uint32_t distance) {
    return static_cast<std::uint64_t>(std::int64_t{static_cast<std::int32_t>(distance)});
  }

  /// Notes of Qt are told by their header alone: notes of packages are texts, in which the same words may stand.
  bool is_qt_note(const elf::Section& section) const {
    const auto notes =
        elf::read_notes(in_.bytes_of(section), section.header.sh_addralign, in_.endian(), {in_.name(), section.name});
    return std::ranges::any_of(notes, [](const elf::Note& note) { return note.owner == "qt-project!"; });
  }

  /// Index of the section, and the offset in it of the distance that lea adds.
  std::optional<std::pair<std::uint32_t, std::uint64_t>> place_of_qt_function() const {
    for (const elf::Section& table : in_.sections()) {
      if (table.header.sh_type != SHT_DYNSYM || table.header.sh_link >= in_.sections().size()) continue;
      const auto symbols = in_.bytes_of(table);
      for (std::size_t at = 0; at + sizeof(Elf64_Sym) <= symbols.size(); at += sizeof(Elf64_Sym)) {
        const Elf64_Sym symbol = elf::load_symbol(symbols.subspan(at), in_.endian());
        constexpr std::string_view name("qt_plugin_query_metadata_v2\0", 28);
        if (!starts_with(in_.bytes_of(in_.sections()[table.header.sh_link]), symbol.st_name, name) ||
            symbol.st_shndx >= in_.sections().size())
          continue;
        const elf::Section& section = in_.sections()[symbol.st_shndx];
        const auto code = in_.bytes_of(section);
        std::uint64_t begin = symbol.st_value - section.header.sh_addr;
        if (starts_with(code, begin, "\xf3\x0f\x1e\xfa")) begin += 4;
        if (starts_with(code, begin, "\x48\x8d\x05") && begin + 7 <= code.size())
          return std::pair(section.index, begin + 3);
      }
    }
    return {};
  }

  static bool starts_with(std::span<const std::byte> bytes, std::uint64_t at, std::string_view text) {
    return at <= bytes.size() && text.size() <= bytes.size() - at &&
           equal_bytes(bytes.subspan(at, text.size()), std::as_bytes(std::span(text)));
  }

  void check_links(const elf::Section& old, const elf::Section& now) const {
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

  static bool is_loaded(const elf::Image& image, const elf::Section& section) {
    return std::any_of(image.segments().begin(), image.segments().end(),
                       [&](const Elf64_Phdr& segment) { return agrees(segment, section.header); });
  }

  void check_loaded(const elf::Section& old, const elf::Section& now) const {
    require_of(now, is_loaded(out_, now) || !is_loaded(in_, old), "must be loaded at its address");
  }

  void check_bytes(const elf::Section& old, const elf::Section& now) const {
    const auto a = in_.bytes_of(old);
    const auto b = out_.bytes_of(now);
    require_of(old, a.size() == b.size(), "must keep its size");
    switch (old.header.sh_type) {
      case SHT_SYMTAB:
      case SHT_DYNSYM:
        return check_symbols(a, b, old);
      case SHT_DYNAMIC:  // check_dynamic()
      case SHT_GROUP:
      case SHT_SYMTAB_SHNDX:
        return;
      case SHT_NOTE:
        return require_of(
            old, equal_bytes(moved_notes(in_, elf::file_range(old.header), now.header.sh_addr - old.header.sh_addr), b),
            "must keep its bytes");
      default:
        require_of(old, equal_bytes(a, b) || is_changed_code(old, a, b), "must keep its bytes");
    }
  }

  bool is_changed_code(const elf::Section& old, std::span<const std::byte> a, std::span<const std::byte> b) const {
    if (!changed_code_ || changed_code_->first != old.index) return false;
    const std::uint64_t begin = changed_code_->second, end = begin + sizeof(std::uint32_t);
    return equal_bytes(a.first(begin), b.first(begin)) && equal_bytes(a.subspan(end), b.subspan(end));
  }

  void check_symbols(std::span<const std::byte> a, std::span<const std::byte> b, const elf::Section& table) const {
    const auto require_of_symbols = [&](bool holds, const char* what) {
      if (!holds) throw LayoutViolation(in_.name(), "symbols of " + elf::describe(table) + " must " + what);
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

  const elf::Image& in_;
  const elf::Image& out_;
  const SectionPairs& partner_;
  const elf::NewSection& added_;
  std::optional<std::pair<std::uint32_t, std::uint64_t>> changed_code_;  ///< as check_note_functions() has seen it
};

/// What has come to its addresses.
struct Newcomer {
  Range range;  ///< of addresses
  std::string name;
  std::optional<std::uint32_t> section;  ///< index in the output; none for the program headers
};

bool occupies_memory(const Elf64_Shdr& header) {
  // .tbss only says how much each thread gets elsewhere.
  const bool is_tbss = header.sh_type == SHT_NOBITS && (header.sh_flags & SHF_TLS) != 0;
  return (header.sh_flags & SHF_ALLOC) != 0 && header.sh_size != 0 && !is_tbss;
}

std::optional<Range> table_addresses(const elf::Image& image) {
  const std::uint64_t at = image.header().e_phoff;
  for (const Elf64_Phdr& load : image.segments()) {
    if (load.p_type != PT_LOAD || at < load.p_offset || at >= load.p_offset + load.p_filesz) continue;
    const std::uint64_t address = load.p_vaddr + (at - load.p_offset);
    return Range{address, address + image.segments().size() * sizeof(Elf64_Phdr)};
  }
  return {};
}

/// Adds the new part of a table that has grown in its place.
void add_table(const elf::Image& input, const elf::Image& output, std::vector<Newcomer>& newcomers) {
  auto now = table_addresses(output);
  if (!now) return;
  const auto old = table_addresses(input);
  if (old && old->begin == now->begin) now->begin = std::min(old->end, now->end);
  if (!now->empty()) newcomers.push_back({*now, "the program headers", {}});
}

std::vector<Newcomer> find_newcomers(const elf::Image& input, const elf::Image& output, const SectionPairs& pairs,
                                     const elf::NewSection& added) {
  std::vector<Newcomer> newcomers;
  add_table(input, output, newcomers);
  for (const elf::Section& old : input.sections()) {
    if (old.name == added.name || old.name == added.undo_name) continue;
    const elf::Section& now = output.sections()[pairs[old.index]];
    if (occupies_memory(now.header) && now.header.sh_addr != old.header.sh_addr)
      newcomers.push_back({addresses_of(now.header), elf::describe(now), now.index});
  }
  if (const elf::Section* const section = output.find_section(added.name))
    newcomers.push_back({addresses_of(section->header), elf::describe(*section), section->index});
  return newcomers;
}

/// What the output has that the input had not there (more program headers, the added section, what moved) lies in
/// memory over no section. .bss has no bytes in the file to compare.
void check_section_addresses(const elf::Image& input, const elf::Image& output, const SectionPairs& pairs,
                             const elf::NewSection& added) {
  for (const Newcomer& newcomer : find_newcomers(input, output, pairs, added)) {
    for (const elf::Section& other : output.sections()) {
      if (!occupies_memory(other.header) || other.index == newcomer.section) continue;
      if (newcomer.range.overlaps(addresses_of(other.header)))
        throw LayoutViolation(input.name(),
                              newcomer.name + " and " + elf::describe(other) + " must not share addresses");
    }
  }
}

/// Nothing that did not overlap before may do so now.
void check_space(const elf::Image& input, const elf::Image& output, const SectionPairs& pairs) {
  const auto overlapped = [&](std::uint32_t a, std::uint32_t b) {
    return elf::file_range(input.sections()[a].header).overlaps(elf::file_range(input.sections()[b].header));
  };
  struct Item {
    Range range;
    elf::Owner name;
    std::optional<std::uint32_t> old;
  };
  std::vector<Item> items;
  std::vector<std::optional<std::uint32_t>> partner_of_new(output.sections().size());
  for (std::uint32_t old = 0; old < pairs.size(); ++old)
    if (!partner_of_new[pairs[old]]) partner_of_new[pairs[old]] = old;
  items.push_back({{0, sizeof(Elf64_Ehdr)}, "the ELF header", {}});
  const std::uint64_t segments = output.header().e_phoff;
  items.push_back({{segments, segments + output.segments().size() * sizeof(Elf64_Phdr)}, "the program headers", {}});
  const std::uint64_t table = output.header().e_shoff;
  items.push_back({{table, table + output.sections().size() * sizeof(Elf64_Shdr)}, "the section header table", {}});
  for (const elf::Section& section : output.sections()) {
    const std::uint64_t size = output.bytes_of(section).size();
    if (size == 0) continue;
    items.push_back(
        {{section.header.sh_offset, section.header.sh_offset + size}, &section, partner_of_new[section.index]});
  }
  std::sort(items.begin(), items.end(), [](const Item& a, const Item& b) { return a.range.begin < b.range.begin; });
  for (std::size_t i = 1; i < items.size(); ++i) {
    const Item& a = items[i - 1];
    const Item& b = items[i];
    if (!a.range.overlaps(b.range)) continue;
    if (a.old && b.old && overlapped(*a.old, *b.old)) continue;
    throw LayoutViolation(input.name(), elf::describe(a.name) + " and " + elf::describe(b.name) + " must not overlap");
  }
}

bool is_sorted(const elf::Image& image) {
  std::uint64_t previous = 0;
  bool sorted = true;
  bool unallocated = false;
  for (const elf::Section& section : image.sections()) {
    const bool allocated = (section.header.sh_flags & SHF_ALLOC) != 0;
    const bool is_space = (section.header.sh_flags & SHF_TLS) != 0 && section.header.sh_type == SHT_NOBITS;
    if (allocated) sorted = sorted && !unallocated && (is_space || section.header.sh_addr >= previous);
    if (allocated && !is_space) previous = section.header.sh_addr;
    unallocated = unallocated || (!allocated && section.header.sh_type != SHT_NULL);
  }
  return sorted;
}

/// Headers stay sorted by address.
void check_order(const elf::Image& input, const elf::Image& output, const SectionPairs& pairs) {
  const auto require = [&](bool holds, const char* rule) {
    if (!holds) throw LayoutViolation(input.name(), rule);
  };
  require(is_sorted(output) || !is_sorted(input), "section headers must be sorted by address");
  require(output.section_name_table_index() < output.sections().size() &&
              pairs[input.section_name_table_index()] == output.section_name_table_index(),
          "section names must stay in their table");
}

/// Asks the output's program headers and PT_DYNAMIC only, as loaders do: what the reader makes up for sections of the
/// output plays no part. What it makes up for the input covers every loaded byte.
class MemoryCheck {
 public:
  MemoryCheck(const elf::Image& input, const elf::Image& output, const elf::NewSection& added)
      : in_(input),
        out_(output),
        added_(added),
        dynamic_before_(elf::read_dynamic(input)),
        dynamic_after_(elf::read_dynamic(output)) {}

  void run() {
    require(out_.header().e_shoff == 0 && out_.header().e_shnum == 0 && out_.header().e_shstrndx == SHN_UNDEF,
            "the ELF header must name no section headers");
    claim_headers();
    for (const Elf64_Phdr& segment : out_.segments()) {
      // layout_check has seen that they keep their bytes.
      if ((is_movable(segment) && !elf::is_stale_property(out_, segment)) || segment.p_type == added_.segment_type)
        claim(segment.p_vaddr, segment.p_filesz, elf::segment_type_name(segment.p_type));
    }
    for (const elf::Section& old : in_.sections()) check_one(old);
    check_dynamic(in_, out_, [&](const elf::Section& old) { return new_address(old); });
    check_claims();
  }

 private:
  void require(bool holds, const std::string& rule) const {
    if (!holds) throw LayoutViolation(in_.name(), rule);
  }

  static bool is_movable(const Elf64_Phdr& segment) {
    return segment.p_type == PT_INTERP || segment.p_type == PT_NOTE || segment.p_type == PT_GNU_PROPERTY;
  }

  static std::string located(const elf::Section& section) {
    return elf::describe(section) + " at " + hex(section.header.sh_addr);
  }

  void check_one(const elf::Section& old) {
    const bool is_loaded = (old.header.sh_flags & SHF_ALLOC) != 0;
    const bool is_added = old.name == added_.name || old.name == added_.undo_name;
    if (!is_loaded || is_added || moves_with_segment(old)) return;
    const std::uint64_t address = new_address(old);
    claim(address, old.header.sh_size, located(old));
    require(address == old.header.sh_addr || address % std::max<std::uint64_t>(old.header.sh_addralign, 1) == 0,
            located(old) + " must stay aligned");
    if (old.header.sh_type == SHT_DYNAMIC) return;  // check_dynamic()
    const auto was = in_.bytes_of(old);
    const auto is = elf::loaded_bytes(out_, address, was.size());
    require(equal_bytes(was, is), located(old) + " must keep its bytes");
  }

  bool moves_with_segment(const elf::Section& old) const {
    return std::any_of(in_.segments().begin(), in_.segments().end(), [&](const Elf64_Phdr& segment) {
      return is_movable(segment) && elf::file_range(segment).contains(elf::file_range(old.header));
    });
  }

  /// The address that a section of the input may have now: another one only if it is a table of the dynamic linker.
  std::uint64_t new_address(const elf::Section& old) const {
    const auto tags = pointers_to(old);
    for (const elf::DynamicEntry& before : dynamic_before_) {
      if (before.value != old.header.sh_addr || std::find(tags.begin(), tags.end(), before.tag) == tags.end()) continue;
      const auto after = elf::find_dynamic(dynamic_after_, before.tag);
      require(after.has_value(), "PT_DYNAMIC must keep its entries");
      return *after;
    }
    return old.header.sh_addr;
  }

  void claim_headers() {
    for (const Elf64_Phdr& load : out_.segments()) {
      if (load.p_type != PT_LOAD) continue;
      const auto claim_part = [&](std::uint64_t offset, std::uint64_t size, const char* name) {
        if (load.p_offset <= offset && offset < load.p_offset + load.p_filesz)
          claim(load.p_vaddr + (offset - load.p_offset), size, name);
      };
      claim_part(0, sizeof(Elf64_Ehdr), "the ELF header");
      claim_part(out_.header().e_phoff, out_.segments().size() * sizeof(Elf64_Phdr), "the program headers");
    }
  }

  void claim(std::uint64_t address, std::uint64_t size, const std::string& name) {
    if (size != 0) claims_.push_back({{address, address + size}, name});
  }

  /// Notes may be in several program headers, and in each other.
  void check_claims() {
    std::stable_sort(claims_.begin(), claims_.end(),
                     [](const Claim& a, const Claim& b) { return a.range.begin < b.range.begin; });
    const auto is_note = [](const Claim& claim) {
      return claim.name == elf::segment_type_name(PT_NOTE) || claim.name == elf::segment_type_name(PT_GNU_PROPERTY);
    };
    const Claim* last = nullptr;
    for (const Claim& claim : claims_) {
      require(last == nullptr || last->range.end <= claim.range.begin || (is_note(*last) && is_note(claim)),
              (last == nullptr ? "" : last->name) + " and " + claim.name + " must not overlap");
      if (last == nullptr || claim.range.end >= last->range.end) last = &claim;
    }
  }

  struct Claim {
    Range range;  ///< of addresses
    std::string name;
  };

  const elf::Image& in_;
  const elf::Image& out_;
  const elf::NewSection& added_;
  std::vector<elf::DynamicEntry> dynamic_before_;
  std::vector<elf::DynamicEntry> dynamic_after_;
  std::vector<Claim> claims_;
};

}  // namespace

/// plan/movable.cpp knows these notes by a table of its own.
std::vector<std::byte> moved_notes(const elf::Image& input, Range range, std::uint64_t distance) {
  const auto bytes = input.slice(range.begin, range.size(), "notes");
  std::vector<std::byte> moved(bytes.begin(), bytes.end());
  if (distance == 0) return moved;
  const auto leads_somewhere = [](const elf::Note& note) {
    if (note.owner == "Crashpad" && note.descriptor.size() == 8) return note.type == 0x4f464e49;      // "INFO"
    return note.owner == "mozannotation" && note.descriptor.size() == 16 && note.type == 0x415a4f4d;  // "MOZA"
  };
  for (const elf::Section& section : input.sections()) {
    if (section.header.sh_type != SHT_NOTE || !range.contains(elf::file_range(section.header))) continue;
    try {
      for (const elf::Note& note : elf::read_notes(input.bytes_of(section), section.header.sh_addralign, input.endian(),
                                                   {input.name(), section.name})) {
        const std::uint64_t begin = elf::offset_of(input, note.descriptor) - range.begin;
        for (std::size_t at = 0; leads_somewhere(note) && at < note.descriptor.size(); at += 8) {
          const auto number = std::span(moved).subspan(begin + at, 8);
          store<std::uint64_t>(number, load<std::uint64_t>(number, input.endian()) - distance, input.endian());
        }
      }
    } catch (const MalformedInput&) {
      // No reader finds a note in that one.
    }
  }
  return moved;
}

void check_sections(const elf::Image& input, const elf::Image& output, Contents contents,
                    const elf::NewSection& added) {
  const SectionPairs pairs = pair_sections(input, output, added);
  SectionCheck(input, output, pairs, added).run(contents);
  check_section_addresses(input, output, pairs, added);
  check_space(input, output, pairs);
  check_order(input, output, pairs);
}

void check_memory(const elf::Image& input, const elf::Image& output, const elf::NewSection& added) {
  MemoryCheck(input, output, added).run();
}

}  // namespace sframe_gen::rewrite
