#include "rewrite/check/removal_check.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "elf/records.hpp"
#include "rewrite/check/layout_check.hpp"
#include "support/bytes.hpp"

namespace sframe_gen::rewrite {

namespace {

class RemovalCheck {
 public:
  RemovalCheck(const elf::Image& input, const elf::Image& output, const elf::NewSection& removed)
      : in_(input), out_(output), removed_(removed) {
    for (const elf::Section& section : in_.sections()) {
      number_now_.push_back(is_removed(section) ? SHN_ABS : static_cast<std::uint32_t>(kept_.size()));
      if (!is_removed(section)) kept_.push_back(section);
    }
  }

  void run() {
    require(std::ranges::none_of(out_.sections(), [&](const elf::Section& section) { return is_removed(section); }),
            "the section and its undo record must be gone");
    header();
    segments();
    if (in_.has_section_headers()) sections();
    bytes();
  }

 private:
  void require(bool holds, const char* rule) const {
    if (!holds) throw LayoutViolation(in_.name(), rule);
  }

  bool is_removed(const elf::Section& section) const {
    return section.name == removed_.name || section.name == removed_.undo_name;
  }

  void header() {
    Elf64_Ehdr expected = in_.header();
    const Elf64_Ehdr& header = out_.header();
    expected.e_shoff = header.e_shoff;
    expected.e_shnum = header.e_shnum;
    expected.e_shstrndx = header.e_shstrndx;
    require(std::ranges::equal(std::as_bytes(std::span(&expected, 1)), std::as_bytes(std::span(&header, 1))),
            "the ELF header must stay");
    require(in_.has_section_headers() == out_.has_section_headers(), "section headers must neither come nor go");
    changed_.push_back({0, sizeof(Elf64_Ehdr)});
  }

  /// PT_NULL counts as no program header.
  void segments() {
    const auto in_use = [](const Elf64_Phdr& segment) { return segment.p_type != PT_NULL; };
    auto now = std::ranges::find_if(out_.segments(), in_use);
    for (const Elf64_Phdr& old : in_.segments()) {
      if (!in_use(old) || old.p_type == removed_.segment_type) continue;
      if (now != out_.segments().end() && is_kept(old, *now)) {
        now = std::find_if(now + 1, out_.segments().end(), in_use);
      } else {
        require(old.p_type == PT_LOAD && is_empty_from(old, 0), "all other program headers must stay");
      }
    }
    require(now == out_.segments().end(), "no program header may come, and that of the section must be gone");
    changed_.push_back(in_.segment_table());
  }

  bool is_kept(const Elf64_Phdr& old, const Elf64_Phdr& now) const {
    Elf64_Phdr longer = now;
    longer.p_filesz = old.p_filesz;
    longer.p_memsz = old.p_memsz;
    const bool says_the_same =
        std::ranges::equal(std::as_bytes(std::span(&old, 1)), std::as_bytes(std::span(&longer, 1)));
    const bool is_as_long = now.p_filesz == old.p_filesz && now.p_memsz == old.p_memsz;
    const bool is_shorter = old.p_type == PT_LOAD && now.p_filesz == now.p_memsz && now.p_filesz < old.p_filesz;
    return says_the_same && (is_as_long || (is_shorter && is_empty_from(old, now.p_filesz)));
  }

  /// Whether a PT_LOAD has only the section and zeros from there on, in no other section and no segment.
  bool is_empty_from(const Elf64_Phdr& load, std::uint64_t size) const {
    if (load.p_filesz != load.p_memsz) return false;
    const Range rest{load.p_offset + size, load.p_offset + load.p_filesz};
    const Range own = own_bytes();
    const auto is_in_it = [&](const auto& header) { return elf::file_range(header).overlaps(rest); };
    const auto is_zero = [&](std::uint64_t begin, std::uint64_t end) {
      const auto part = begin < end ? in_.slice(begin, end - begin, "segment") : std::span<const std::byte>();
      return std::ranges::all_of(part, [](std::byte b) { return b == std::byte{0}; });
    };
    const auto has_bytes_in_it = [&](const elf::Section& section) {
      return is_in_it(section.header) && !in_.bytes_of(section).empty();
    };
    return rest.overlaps(own) && std::ranges::none_of(kept_, has_bytes_in_it) &&
           std::ranges::none_of(out_.segments(), is_in_it) && !in_.segment_table().overlaps(rest) &&
           is_zero(rest.begin, own.begin) && is_zero(own.end, rest.end);
  }

  /// Bytes of the section in the file, and what its program header adds: that of GNU ld 2.43 may reach further.
  Range own_bytes() const {
    const elf::Section* const section = in_.find_section(removed_.name);
    if (section == nullptr) return {};
    Range own = elf::file_range(section->header);
    for (const Elf64_Phdr& segment : in_.segments())
      if (segment.p_type == removed_.segment_type && segment.p_offset == own.begin)
        own.end = std::max(own.end, elf::file_range(segment).end);
    return own;
  }

  /// Returns the number that section `number` has in the output. Some numbers have a meaning of their own.
  std::uint32_t number_now(std::uint32_t number) const {
    return number < number_now_.size() ? number_now_[number] : number;
  }

  void sections() {
    require(out_.sections().size() == kept_.size() &&
                out_.section_name_table_index() == number_now(in_.section_name_table_index()),
            "all other sections must stay");
    for (std::size_t i = 0; i < kept_.size(); ++i) {
      Elf64_Shdr expected = kept_[i].header;
      const bool names_section =
          expected.sh_type == SHT_REL || expected.sh_type == SHT_RELA || (expected.sh_flags & SHF_INFO_LINK) != 0;
      if (expected.sh_type != SHT_NULL) expected.sh_link = number_now(expected.sh_link);
      if (names_section) expected.sh_info = number_now(expected.sh_info);
      require(kept_[i].name == out_.sections()[i].name &&
                  std::ranges::equal(std::as_bytes(std::span(&expected, 1)),
                                     std::as_bytes(std::span(&out_.sections()[i].header, 1))),
              "sections must keep their headers");
      if (expected.sh_type == SHT_SYMTAB || expected.sh_type == SHT_DYNSYM) symbols(kept_[i]);
      if (expected.sh_type == SHT_SYMTAB_SHNDX || expected.sh_type == SHT_GROUP)
        changed_.push_back(elf::file_range(expected));
    }
    changed_.push_back(in_.section_table());
  }

  void symbols(const elf::Section& table) {
    const auto before = in_.bytes_of(table);
    const auto after = out_.slice(table.header.sh_offset, before.size(), "symbols");
    for (std::size_t at = 0; at + sizeof(Elf64_Sym) <= before.size(); at += sizeof(Elf64_Sym)) {
      const Elf64_Sym old = elf::load_symbol(before.subspan(at), in_.endian());
      Elf64_Sym now = elf::load_symbol(after.subspan(at), out_.endian());
      require(now.st_shndx == number_now(old.st_shndx), "symbols must keep their section");
      now.st_shndx = old.st_shndx;
      require(std::ranges::equal(std::as_bytes(std::span(&old, 1)), std::as_bytes(std::span(&now, 1))),
              "symbols must stay");
    }
    changed_.push_back(elf::file_range(table.header));
  }

  void bytes() {
    const auto before = in_.file_bytes(), after = out_.file_bytes();
    changed_.push_back(own_bytes());
    if (const elf::Section* const record = in_.find_section(removed_.undo_name))
      changed_.push_back(elf::file_range(record->header));
    const RangeSet all(std::vector<Range>{{0, before.size()}});
    for (const Range& range : all.without(RangeSet(changed_))) {
      require(range.end <= after.size() &&
                  equal_bytes(before.subspan(range.begin, range.size()), after.subspan(range.begin, range.size())),
              "all other bytes must stay");
    }
  }

  const elf::Image& in_;
  const elf::Image& out_;
  const elf::NewSection& removed_;
  std::vector<std::uint32_t> number_now_;  ///< of a section of the input, by its number there
  std::vector<elf::Section> kept_;         ///< of the input
  std::vector<Range> changed_;             ///< parts of the file that may change, and were looked at
};

}  // namespace

void check_removal(const elf::Image& input, const elf::Image& output, const elf::NewSection& removed) {
  RemovalCheck(input, output, removed).run();
}

}  // namespace sframe_gen::rewrite
