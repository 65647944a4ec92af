// Holds a file that sframe-gen converted against GNU's build of the same assembly, function by function and PC by PC.
//
//     same-source CONVERTED GNU
//
// Both have every function at the same address. Prints "NAME COUNT" lines; status 1 if they differ where libdwarf does
// not say that GNU is wrong, or where GNU is wrong in a way that is not known.

#include <algorithm>
#include <iostream>
#include <map>
#include <memory>
#include <set>

#include "corpus/pc_table.hpp"
#include "elf/image.hpp"
#include "sframe/format.hpp"
#include "sframe_gen/section.hpp"
#include "verify/caller.hpp"
#include "verify/libdwarf.hpp"
#include "verify/verify.hpp"

namespace {

using namespace sframe_gen;

struct File {
  explicit File(const char* path) : image(elf::Image::open(path)) {
    const elf::Section* const header = image.find_section(".sframe");
    if (header == nullptr) throw Refused(image.name(), "has no .sframe section");
    bytes = image.bytes_of(*header);
    section = sframe::decode(bytes, header->header.sh_addr, {image.name(), ".sframe"});
    table = test::pc_table(section);
    find_blocks();
  }

  /// The bytes of each function that has any, its attribute with its rows: from its offset to where the next begin.
  void find_blocks() {
    const sframe::VersionTraits& version = sframe::traits_of(section.version);
    const sframe::HeaderFields fields(version);
    // After a start of 8 bytes, in older versions of 4, and a size of 4: the offset of the attribute, or of the rows.
    const std::size_t offset_at = version.splits_descriptor ? 12 : 8;
    const auto rows_at = version.header_size() + word(fields.fres_at());
    std::set<std::uint32_t> starts{word(fields.fre_bytes_at())};
    const auto offset_of = [&](std::size_t i) {
      return word(version.header_size() + word(fields.fdes_at()) + i * version.descriptor_size + offset_at);
    };
    for (std::size_t i = 0; i < section.fdes.size(); ++i) starts.insert(offset_of(i));
    for (std::size_t i = 0; i < section.fdes.size(); ++i) {
      const sframe::Fde& function = section.fdes[i];
      if (function.size == 0) continue;
      const std::uint32_t begin = offset_of(i);
      const std::uint32_t end = *starts.upper_bound(begin);
      blocks[function.start] = {&function, bytes.subspan(rows_at + begin, end - begin)};
    }
  }

  std::uint32_t word(std::size_t at) const {
    std::uint32_t value = 0;
    for (std::size_t i = 0; i < 4; ++i) {
      const std::size_t next = section.endian == Endian::Big ? i : 3 - i;
      value = value << 8U | std::to_integer<std::uint32_t>(bytes[at + next]);
    }
    return value;
  }

  struct Block {
    const sframe::Fde* function = nullptr;
    std::span<const std::byte> bytes;
  };

  elf::Image image;
  std::span<const std::byte> bytes;
  sframe::Section section;
  std::vector<test::PcStretch> table;
  std::map<std::uint64_t, Block> blocks;  ///< by start
};

/// What libdwarf makes of the converted file's .eh_frame.
class Dwarf {
 public:
  explicit Dwarf(const elf::Image& image)
      : sections_(verify::read_cfi_sections(image)),
        session_(sections_.at(0).kind, sections_[0].bytes, sections_[0].address, image.endian(), sections_[0].origin),
        index_(session_, image),
        proofs_(image, {}) {}

  /// Whether the row of `section` at `pc` says what every FDE there says.
  bool agrees(const std::optional<sframe::RecoveryRules>& recovery, const sframe::Section& section, std::uint64_t pc) {
    const auto entries = index_.fdes_at(pc);
    const verify::Caller found = verify::sframe_caller(recovery, *sframe::find_fde(section, pc), section, pc);
    return !entries.empty() && std::all_of(entries.begin(), entries.end(), [&](std::size_t entry) {
      const verify::Caller said = verify::dwarf_caller(session_, entry, pc, sframe::traits_of(section.abi), proofs_);
      return verify::same_caller(said, found);
    });
  }

 private:
  std::vector<verify::CfiSection> sections_;
  verify::DwarfSession session_;
  verify::FdeIndex index_;
  verify::StackPointerProofs proofs_;
};

class Comparison {
 public:
  Comparison(const char* ours, const char* gnu) : ours_(ours), gnu_(gnu), dwarf_(ours_.image) {}

  int run() {
    compare_pcs();
    compare_functions();
    for (const auto& [name, count] : counts_) std::cout << name << ' ' << count << '\n';
    return failures_ == 0 ? 0 : 1;
  }

 private:
  void fail(std::uint64_t pc, const std::string& text) {
    if (failures_++ < 20) std::cout << "pc " << hex(pc) << ": " << text << '\n';
  }

  /// Stretches over which neither side changes.
  void compare_pcs() {
    std::set<std::uint64_t> edges;
    for (const auto* table : {&ours_.table, &gnu_.table})
      for (const test::PcStretch& stretch : *table) edges.insert({stretch.begin, stretch.end});
    auto our = ours_.table.begin();
    auto gnu = gnu_.table.begin();
    for (auto edge = edges.begin(); edge != edges.end() && std::next(edge) != edges.end(); ++edge) {
      while (our != ours_.table.end() && our->end <= *edge) ++our;
      while (gnu != gnu_.table.end() && gnu->end <= *edge) ++gnu;
      const bool in_ours = our != ours_.table.end() && our->begin <= *edge;
      const bool in_gnu = gnu != gnu_.table.end() && gnu->begin <= *edge;
      const std::uint64_t length = *std::next(edge) - *edge;
      if (in_ours && in_gnu) {
        compare_rows(*edge, length, *our, *gnu);
      } else if (in_gnu) {
        compare_gnu_only(*edge, length, *gnu);
      } else if (in_ours) {
        counts_["pcs-gnu-skipped"] += length;
      }
    }
  }

  /// GNU may say more than we only where that is not what the DWARF says.
  void compare_gnu_only(std::uint64_t pc, std::uint64_t length, const test::PcStretch& gnu) {
    if (dwarf_.agrees(gnu.recovery, gnu_.section, pc)) return fail(pc, "GNU has a row, we have none");
    const char* const reason = known_excess(gnu);
    if (reason == nullptr) return fail(pc, "GNU has a row that is wrong for no known reason, we have none");
    note_gnu_wrong(pc, length, reason);
  }

  void note_gnu_wrong(std::uint64_t pc, std::uint64_t length, const char* reason) {
    counts_["pcs-gnu-wrong"] += length;
    counts_[reason] += length;
    wrong_.insert(pc);
    if (shown_[reason]++ < 5)
      std::cout << "gnu is wrong at " << hex(pc) << ".." << hex(pc + length) << ": " << reason << '\n';
  }

  void compare_rows(std::uint64_t pc, std::uint64_t length, const test::PcStretch& our, const test::PcStretch& gnu) {
    counts_["pcs"] += length;
    if (our.signal_frame != gnu.signal_frame) return fail(pc, "only one side says signal frame");
    if (our.recovery == gnu.recovery && our.b_key == gnu.b_key) return;
    if (!dwarf_.agrees(our.recovery, ours_.section, pc)) return fail(pc, "our row is not the DWARF's");
    if (dwarf_.agrees(gnu.recovery, gnu_.section, pc))
      return fail(pc, "the rows differ, but both say what the DWARF says");
    const char* const reason = known_defect(pc, our, gnu);
    if (reason == nullptr) return fail(pc, "GNU's row is wrong for no known reason");
    note_gnu_wrong(pc, length, reason);
  }

  /// Why GNU has a row where there should be none, if it is one of the ways known.
  const char* known_excess(const test::PcStretch& gnu) const {
    if (!gnu.recovery) return nullptr;
    // s390x: as does not look at .cfi_register of r15. gcc's leaf functions save it in a floating-point register.
    if (gnu_.section.abi == sframe::Abi::S390x) return "sp-in-register";
    return nullptr;
  }

  /// Why GNU is wrong there, if it is one of the ways known.
  const char* known_defect(std::uint64_t pc, const test::PcStretch& our, const test::PcStretch& gnu) const {
    if (!our.recovery || !gnu.recovery) return nullptr;
    // ld takes the entries of .plt.got for ones that push.
    const bool pushes_less = our.recovery->cfa.offset == 8 && gnu.recovery->cfa.offset == 16;
    if (is_in(".plt.got", pc) && pushes_less) return "plt-got-cfa";
    // The second row of a PLT entry starts at 11. As a bit mask, which it is in version 1, that leaves out 12 to 15:
    // bytes of the instruction at 11, which no PC but 11 is the start of.
    const sframe::Fde* const function = sframe::find_fde(gnu_.section, pc);
    if (sframe::has_bit_mask_fres(*function) && is_in(".plt", pc) && (pc - function->start) % 16 >= 12)
      return "plt-bit-mask";
    // as restores a register to what the function's first row says. Where a part of a function is cut off, that row
    // has it saved already.
    const bool same_but_fp =
        our.recovery->cfa == gnu.recovery->cfa && our.recovery->return_address == gnu.recovery->return_address;
    const auto& first = function->fres.front().recovery;
    if (same_but_fp && first && first->frame_pointer && gnu.recovery->frame_pointer == first->frame_pointer &&
        !our.recovery->frame_pointer)
      return "restored-to-first-row";
    return nullptr;
  }

  bool is_in(std::string_view section, std::uint64_t pc) const {
    const elf::Section* const header = ours_.image.find_section(section);
    return header != nullptr && pc - header->header.sh_addr < header->header.sh_size;
  }

  bool gnu_is_wrong_in(const sframe::Fde& function) const {
    const auto found = wrong_.lower_bound(function.start);
    return found != wrong_.end() && *found < function.start + function.size;
  }

  void compare_functions() {
    for (const auto& [start, gnu] : gnu_.blocks) {
      const auto found = ours_.blocks.find(start);
      if (is_part_of_our_plt(*gnu.function)) {
        ++counts_["plt-divided"];
        continue;
      }
      if (gnu_is_wrong_in(*gnu.function)) {
        ++counts_["functions"];
        ++counts_["gnu-wrong"];
        continue;
      }
      if (found == ours_.blocks.end() || found->second.function->size != gnu.function->size) {
        fail(start, "GNU has a descriptor of " + hex(gnu.function->size) + " bytes, we have none like it");
        continue;
      }
      ++counts_["functions"];
      ++counts_[compare_blocks(found->second, gnu)];
    }
    for (const auto& [start, our] : ours_.blocks)
      counts_["gnu-skipped"] += sframe::find_fde(gnu_.section, start) == nullptr;
  }

  /// ld divides a PLT in its head and repeated blocks. Where its FDE has plain rows (s390x), or the version has no
  /// blocks of any size (1), we have one function with rows for all of it. What they say is compared PC by PC.
  bool is_part_of_our_plt(const sframe::Fde& gnu) const {
    const sframe::Fde* const our = sframe::find_fde(ours_.section, gnu.start);
    return is_in(".plt", gnu.start) && our != nullptr && our->pc_type == sframe::PcType::Increment &&
           our->size > gnu.size && gnu.start + gnu.size <= our->start + our->size;
  }

  const char* compare_blocks(const File::Block& our, const File::Block& gnu) {
    if (std::ranges::equal(our.bytes, gnu.bytes)) return "identical";
    if (without_redundant_rows(*gnu.function) == *our.function && gnu.function->fres.size() > our.function->fres.size())
      return "gnu-redundant";
    // ld chooses the width of PLT0's row starts by the size of all of .plt.
    if (*our.function == *gnu.function && is_in(".plt", our.function->start)) return "gnu-wider";
    fail(our.function->start, "the descriptors differ, and not by redundant rows of GNU's");
    return "different";
  }

  static sframe::Fde without_redundant_rows(sframe::Fde function) {
    std::erase_if(function.fres, [&](const sframe::Fre& row) { return row.pc_offset >= function.size; });
    const auto same = [](const sframe::Fre& a, const sframe::Fre& b) { return a.recovery == b.recovery; };
    function.fres.erase(std::unique(function.fres.begin(), function.fres.end(), same), function.fres.end());
    return function;
  }

  File ours_, gnu_;
  Dwarf dwarf_;
  std::map<std::string, std::uint64_t> counts_;
  std::map<std::string, int> shown_;  ///< by reason
  std::set<std::uint64_t> wrong_;     ///< PCs from which GNU is wrong
  std::uint64_t failures_ = 0;
};

}  // namespace

int main(int argument_count, char** arguments) {
  if (argument_count != 3) return 2;
  try {
    return Comparison(arguments[1], arguments[2]).run();
  } catch (const std::exception& failure) {
    std::cout << failure.what() << '\n';
    return 1;
  }
}
