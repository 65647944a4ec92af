#include "elf/check/memory_check.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include "elf/check/content_check.hpp"
#include "elf/dynamic_table.hpp"
#include "elf/image.hpp"
#include "elf/machine.hpp"
#include "elf/records.hpp"
#include "sframe_gen/error.hpp"
#include "support/bytes.hpp"
#include "support/text.hpp"

namespace sframe_gen::elf {

namespace {

/// Asks the output's program headers and PT_DYNAMIC only, as loaders do: what the reader makes up for sections of the
/// output plays no part. What it makes up for the input covers every loaded byte.
class MemoryCheck {
 public:
  MemoryCheck(const Image& input, const Image& output, const NewSection& added)
      : in_(input),
        out_(output),
        added_(added),
        dynamic_before_(read_dynamic(input)),
        dynamic_after_(read_dynamic(output)) {}

  void run() {
    require(out_.header().e_shoff == 0 && out_.header().e_shnum == 0 && out_.header().e_shstrndx == SHN_UNDEF,
            "the ELF header must name no section headers");
    claim_headers();
    for (const Elf64_Phdr& segment : out_.segments()) {
      // layout_check has seen that they keep their bytes.
      if (is_movable(segment) || segment.p_type == added_.segment_type)
        claim(segment.p_vaddr, segment.p_filesz, segment_type_name(segment.p_type));
    }
    for (const Section& old : in_.sections()) check_one(old);
    check_dynamic_entries();
    check_claims();
  }

 private:
  void require(bool holds, const std::string& rule) const {
    if (!holds) throw LayoutViolation(in_.name(), rule);
  }

  static bool is_movable(const Elf64_Phdr& segment) {
    return segment.p_type == PT_INTERP || segment.p_type == PT_NOTE || segment.p_type == PT_GNU_PROPERTY;
  }

  static std::string located(const Section& section) {
    return describe(section) + " at " + hex(section.header.sh_addr);
  }

  void check_one(const Section& old) {
    const bool is_loaded = (old.header.sh_flags & SHF_ALLOC) != 0;
    const bool is_added = old.name == added_.name || old.name == added_.undo_name;
    if (!is_loaded || is_added || moves_with_segment(old)) return;
    const std::uint64_t address = new_address(old);
    claim(address, old.header.sh_size, located(old));
    require(address == old.header.sh_addr || address % std::max<std::uint64_t>(old.header.sh_addralign, 1) == 0,
            located(old) + " must stay aligned");
    if (old.header.sh_type == SHT_DYNAMIC) return;  // check_dynamic_entries()
    const auto was = in_.bytes_of(old);
    const auto is = loaded_bytes(out_, address, was.size());
    require(equal_bytes(was, is), located(old) + " must keep its bytes");
  }

  bool moves_with_segment(const Section& old) const {
    return std::any_of(in_.segments().begin(), in_.segments().end(), [&](const Elf64_Phdr& segment) {
      return is_movable(segment) && Range{segment.p_offset, segment.p_offset + segment.p_filesz}.contains(
                                        {old.header.sh_offset, old.header.sh_offset + old.header.sh_size});
    });
  }

  /// Only the tables of the dynamic linker may have another.
  std::uint64_t new_address(const Section& old) const {
    const auto tags = pointers_to(old);
    for (const DynamicEntry& before : dynamic_before_) {
      if (before.value != old.header.sh_addr || std::find(tags.begin(), tags.end(), before.tag) == tags.end()) continue;
      const auto after = find_dynamic(dynamic_after_, before.tag);
      require(after.has_value(), "PT_DYNAMIC must keep its entries");
      return *after;
    }
    return old.header.sh_addr;
  }

  void check_dynamic_entries() const {
    require(dynamic_before_.size() == dynamic_after_.size(), "PT_DYNAMIC must keep its entries");
    for (std::size_t i = 0; i < dynamic_before_.size(); ++i) {
      const DynamicEntry& before = dynamic_before_[i];
      const bool names_table = std::any_of(in_.sections().begin(), in_.sections().end(), [&](const Section& old) {
        const auto tags = pointers_to(old);
        return old.header.sh_addr == before.value && std::find(tags.begin(), tags.end(), before.tag) != tags.end();
      });
      require(before.tag == dynamic_after_[i].tag && (before.value == dynamic_after_[i].value || names_table),
              "PT_DYNAMIC must keep its entries");
    }
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
      return claim.name == segment_type_name(PT_NOTE) || claim.name == segment_type_name(PT_GNU_PROPERTY);
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

  const Image& in_;
  const Image& out_;
  const NewSection& added_;
  std::vector<DynamicEntry> dynamic_before_;
  std::vector<DynamicEntry> dynamic_after_;
  std::vector<Claim> claims_;
};

}  // namespace

void check_memory(const Image& input, const Image& output, const NewSection& added) {
  MemoryCheck(input, output, added).run();
}

}  // namespace sframe_gen::elf
