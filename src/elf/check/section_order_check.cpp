#include "elf/check/section_order_check.hpp"

#include <algorithm>
#include <optional>

#include "elf/alignment.hpp"
#include "elf/type_names.hpp"
#include "sframe_gen/error.hpp"

namespace sframe_gen::elf {

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
      FileRange range;
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
  const SectionPairs& partner_;
};

}  // namespace

void check_section_order(const Image& input, const Image& output, const SectionPairs& pairs) {
  OrderCheck(input, output, pairs).run();
}

}  // namespace sframe_gen::elf
