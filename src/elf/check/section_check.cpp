#include "elf/check/section_check.hpp"

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "elf/machine.hpp"
#include "elf/records.hpp"
#include "sframe_gen/error.hpp"

namespace sframe_gen::elf {

namespace {

/// Pairs of both tables so far.
class Pairing {
 public:
  Pairing(const Image& input, const Image& output)
      : in_(input), out_(output), partner_(in_.sections().size()), found_(in_.sections().size(), false) {}

  /// Walks both tables in step.
  template <typename Predicate>
  void pair_in_order(Predicate matches) {
    std::uint32_t next = 0;
    for (const Section& old : in_.sections()) {
      for (std::uint32_t i = next; i < out_.sections().size(); ++i) {
        if (taken_.contains(i) || !matches(old, out_.sections()[i])) continue;
        pair(old.index, i);
        next = i + 1;
        break;
      }
    }
  }

  void pair_by_name() {
    for (const Section& old : in_.sections()) {
      if (found_[old.index]) continue;
      for (const Section& now : out_.sections()) {
        if (taken_.contains(now.index) || old.name != now.name) continue;
        pair(old.index, now.index);
        break;
      }
      if (!found_[old.index]) throw LayoutViolation(in_.name(), describe(old) + " must be kept");
    }
  }

  SectionPairs release() { return std::move(partner_); }

 private:
  void pair(std::uint32_t old_index, std::uint32_t new_index) {
    partner_[old_index] = new_index;
    found_[old_index] = true;
    taken_.insert(new_index);
  }

  const Image& in_;
  const Image& out_;
  SectionPairs partner_;
  std::vector<bool> found_;
  std::set<std::uint32_t> taken_;
};

}  // namespace

SectionPairs pair_sections(const Image& input, const Image& output, const NewSection& added) {
  Pairing pairing(input, output);
  pairing.pair_in_order([&](const Section& a, const Section& b) {
    return a.name == b.name && a.name != added.name && a.name != added.undo_name &&
           a.header.sh_addr == b.header.sh_addr && a.header.sh_type == b.header.sh_type &&
           a.header.sh_flags == b.header.sh_flags;
  });
  pairing.pair_by_name();
  std::size_t count = input.sections().size();
  if (input.find_section(added.name) == nullptr) ++count;
  if (added.keeps_way_back && input.find_section(added.undo_name) == nullptr) ++count;
  if (input.find_section(old_headers_name) == nullptr && output.find_section(old_headers_name) != nullptr) ++count;
  if (output.sections().size() != count) {
    throw LayoutViolation(input.name(), "no section but " + std::string(added.name) + " and " +
                                            std::string(added.undo_name) + " may be added");
  }
  return pairing.release();
}

namespace {

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

Range addresses_of(const Elf64_Shdr& header) {
  return {header.sh_addr, header.sh_addr + header.sh_size};
}

std::optional<Range> table_addresses(const Image& image) {
  const std::uint64_t at = image.header().e_phoff;
  for (const Elf64_Phdr& load : image.segments()) {
    if (load.p_type != PT_LOAD || at < load.p_offset || at >= load.p_offset + load.p_filesz) continue;
    const std::uint64_t address = load.p_vaddr + (at - load.p_offset);
    return Range{address, address + image.segments().size() * sizeof(Elf64_Phdr)};
  }
  return {};
}

/// Of a table that has grown in its place, what was added.
void add_table(const Image& input, const Image& output, std::vector<Newcomer>& newcomers) {
  auto now = table_addresses(output);
  if (!now) return;
  const auto old = table_addresses(input);
  if (old && old->begin == now->begin) now->begin = std::min(old->end, now->end);
  if (!now->empty()) newcomers.push_back({*now, "the program headers", {}});
}

std::vector<Newcomer> find_newcomers(const Image& input, const Image& output, const SectionPairs& pairs,
                                     const NewSection& added) {
  std::vector<Newcomer> newcomers;
  add_table(input, output, newcomers);
  for (const Section& old : input.sections()) {
    if (old.name == added.name || old.name == added.undo_name) continue;
    const Section& now = output.sections()[pairs[old.index]];
    if (occupies_memory(now.header) && now.header.sh_addr != old.header.sh_addr)
      newcomers.push_back({addresses_of(now.header), describe(now), now.index});
  }
  if (const Section* const section = output.find_section(added.name))
    newcomers.push_back({addresses_of(section->header), describe(*section), section->index});
  return newcomers;
}

}  // namespace

void check_section_addresses(const Image& input, const Image& output, const SectionPairs& pairs,
                             const NewSection& added) {
  for (const Newcomer& newcomer : find_newcomers(input, output, pairs, added)) {
    for (const Section& other : output.sections()) {
      if (!occupies_memory(other.header) || other.index == newcomer.section) continue;
      if (newcomer.range.overlaps(addresses_of(other.header)))
        throw LayoutViolation(input.name(), newcomer.name + " and " + describe(other) + " must not share addresses");
    }
  }
}

namespace {

class OrderCheck {
 public:
  OrderCheck(const Image& input, const Image& output, const SectionPairs& pairs)
      : in_(input), out_(output), partner_(pairs) {}

  void run() const {
    check_space();
    check_order();
  }

 private:
  void require(bool holds, const char* rule) const {
    if (!holds) throw LayoutViolation(in_.name(), rule);
  }

  /// Nothing that did not overlap before may do so now.
  void check_space() const {
    struct Item {
      Range range;
      Owner name;
      std::optional<std::uint32_t> old;
    };
    std::vector<Item> items;
    items.push_back({{0, sizeof(Elf64_Ehdr)}, "the ELF header", {}});
    const std::uint64_t segments = out_.header().e_phoff;
    items.push_back({{segments, segments + out_.segments().size() * sizeof(Elf64_Phdr)}, "the program headers", {}});
    const std::uint64_t table = out_.header().e_shoff;
    items.push_back({{table, table + out_.sections().size() * sizeof(Elf64_Shdr)}, "the section header table", {}});
    for (const Section& section : out_.sections()) {
      const std::uint64_t size = out_.bytes_of(section).size();
      if (size == 0) continue;
      const auto partner = std::find(partner_.begin(), partner_.end(), section.index);
      std::optional<std::uint32_t> old;
      if (partner != partner_.end()) old = static_cast<std::uint32_t>(partner - partner_.begin());
      items.push_back({{section.header.sh_offset, section.header.sh_offset + size}, &section, old});
    }
    std::sort(items.begin(), items.end(), [](const Item& a, const Item& b) { return a.range.begin < b.range.begin; });
    for (std::size_t i = 1; i < items.size(); ++i) {
      const Item& a = items[i - 1];
      const Item& b = items[i];
      if (!a.range.overlaps(b.range)) continue;
      if (a.old && b.old && overlapped(*a.old, *b.old)) continue;
      throw LayoutViolation(in_.name(), describe(a.name) + " and " + describe(b.name) + " must not overlap");
    }
  }

  bool overlapped(std::uint32_t a, std::uint32_t b) const {
    const auto range = [&](std::uint32_t index) {
      const Elf64_Shdr& header = in_.sections()[index].header;
      return Range{header.sh_offset, header.sh_offset + header.sh_size};
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
  const SectionPairs& partner_;
};

}  // namespace

void check_section_order(const Image& input, const Image& output, const SectionPairs& pairs) {
  OrderCheck(input, output, pairs).run();
}

}  // namespace sframe_gen::elf
