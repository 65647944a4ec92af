#include "elf/object/object_check.hpp"

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "elf/object/symbol_table.hpp"
#include "elf/records.hpp"
#include "files/stored_bytes.hpp"
#include "support/bytes.hpp"

namespace sframe_gen::elf::object {

namespace {

constexpr std::uint64_t section_alignment = 8;

/// A mapping of larger contents, once read, would stay in memory.
constexpr std::uint64_t large = 1 << 20;

class Check {
 public:
  Check(const elf::Image& input, const elf::Image& output, Stored stored)
      : input_(input), output_(output), stored_(stored) {}

  void run() {
    check_elf_header();
    require(output_.sections().size() >= input_.sections().size(), "no section is lost");
    for (const elf::Section& section : input_.sections()) check_kept(section);
    check_places();
    check_section();
  }

 private:
  void require(bool holds, const std::string& rule) const {
    if (!holds) throw LayoutViolation(output_.name(), rule);
  }

  void check_elf_header() const {
    Elf64_Ehdr before = input_.header(), after = output_.header();
    before.e_shoff = after.e_shoff = 0;
    before.e_shnum = after.e_shnum = 0;
    require(std::memcmp(&before, &after, sizeof before) == 0, "the ELF header keeps its fields");
  }

  bool is_ours(const elf::Section& section) const {
    return section.name == ".sframe" || section.name == ".rela.sframe";
  }

  void check_kept(const elf::Section& section) const {
    const elf::Section& now = output_.sections()[section.index];
    require(now.name == section.name, "section " + std::to_string(section.index) + " keeps its name");
    if (is_ours(section)) return;
    const bool names = section.index == input_.section_name_table_index();
    Elf64_Shdr before = input_.header_in_file(section.index), after = output_.header_in_file(section.index);
    before.sh_offset = after.sh_offset = 0;
    // Names grow; the null section has the count of sections where that has more than 16 bits.
    if (names || section.index == 0) before.sh_size = after.sh_size;
    require(std::memcmp(&before, &after, sizeof before) == 0, section.name + " keeps its header");
    require(keeps_bytes(section, now), section.name + " keeps its bytes");
  }

  bool keeps_bytes(const elf::Section& section, const elf::Section& now) const {
    const auto bytes = input_.bytes_of(section), bytes_now = output_.bytes_of(now);
    if (bytes_now.size() < bytes.size()) return false;
    if (stored_ == Stored::InMemory || bytes.size() < large) return equal_bytes(bytes, bytes_now.first(bytes.size()));
    return files::have_same_bytes({input_.descriptor(), section.header.sh_offset},
                                  {output_.descriptor(), now.header.sh_offset}, bytes.size());
  }

  void check_places() const {
    std::vector<Range> used{{0, sizeof(Elf64_Ehdr)}};
    const std::uint64_t headers = output_.header().e_shoff;
    used.push_back({headers, headers + output_.sections().size() * sizeof(Elf64_Shdr)});
    for (const elf::Section& section : output_.sections()) {
      if (output_.bytes_of(section).empty()) continue;
      used.push_back({section.header.sh_offset, section.header.sh_offset + section.header.sh_size});
    }
    std::ranges::sort(used, {}, &Range::begin);
    for (std::size_t i = 1; i < used.size(); ++i) require(used[i - 1].end <= used[i].begin, "contents lie apart");
  }

  void check_section() const {
    const elf::Section* const section = output_.find_section(".sframe");
    const elf::Section* const relocations = output_.find_section(".rela.sframe");
    require(section != nullptr && relocations != nullptr, ".sframe and .rela.sframe are there");
    const Elf64_Shdr& header = section->header;
    require(header.sh_flags == SHF_ALLOC && header.sh_addralign == section_alignment &&
                header.sh_offset % section_alignment == 0,
            ".sframe is loaded, read-only and aligned");
    require(relocations->header.sh_info == section->index && relocations->header.sh_entsize == sizeof(Elf64_Rela),
            ".rela.sframe is for .sframe");
    const SymbolTable symbols(output_, relocations->header.sh_link);
    const InputOrigin origin{output_.name(), relocations->name};
    ByteReader reader(output_.bytes_of(*relocations), output_.endian(), origin);
    for (std::uint64_t next = 0; !reader.at_end();) {
      const std::uint64_t offset = reader.u64("offset");
      require(offset >= next && offset < header.sh_size, "relocations ascend, inside .sframe");
      next = offset + 1;
      require(symbols.at(ELF64_R_SYM(reader.u64("info"))).section.has_value(), "relocations are against sections");
      reader.u64("addend");
    }
  }

  const elf::Image& input_;
  const elf::Image& output_;
  Stored stored_;
};

}  // namespace

void check_object(const elf::Image& input, const elf::Image& output, Stored stored) {
  Check(input, output, stored).run();
}

}  // namespace sframe_gen::elf::object
