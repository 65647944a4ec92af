#include "rewrite/check/layout_check.hpp"

#include <algorithm>
#include <vector>

#include "elf/machine.hpp"
#include "elf/notes.hpp"
#include "elf/records.hpp"
#include "rewrite/check/section_check.hpp"
#include "support/bytes.hpp"
#include "support/text.hpp"

namespace sframe_gen::rewrite {

namespace {

class LayoutCheck {
 public:
  LayoutCheck(const elf::Image& input, const elf::Image& output, const elf::NewSection& added)
      : in_(input), out_(output), added_(added), page_(elf::layout_page(input)) {
    for (const Elf64_Phdr& segment : out_.segments()) {
      if (segment.p_type != PT_LOAD) continue;
      loads_.push_back(segment);
      page_ = std::max(page_, segment.p_align);
    }
  }

  void run(Contents contents) const {
    table();
    if (has_pages_below()) pages_below();
    loads();
    if (added_.segment_type) segment_of_section();
    section();
    kept_segments();
    const bool has_sections = in_.has_section_headers();
    require(has_sections == out_.has_section_headers(), "section headers must neither come nor go");
    has_sections ? check_sections(in_, out_, contents, added_) : check_memory(in_, out_, added_);
  }

 private:
  void require(bool holds, const char* rule) const {
    if (!holds) throw LayoutViolation(in_.name(), rule);
  }
  /// Makes the message only on failure: it costs more than the rule.
  template <typename Name>
  void require_of(const Name& name, bool holds, const char* rule, const std::string& what = {}) const {
    if (!holds) throw LayoutViolation(in_.name(), name() + ' ' + rule + what);
  }

  static bool is_loaded(const elf::Image& image, const Elf64_Phdr& segment) {
    return std::any_of(image.segments().begin(), image.segments().end(), [&](const Elf64_Phdr& load) {
      return load.p_type == PT_LOAD && segment.p_vaddr >= load.p_vaddr &&
             segment.p_vaddr + segment.p_memsz <= load.p_vaddr + load.p_memsz &&
             segment.p_vaddr - load.p_vaddr == segment.p_offset - load.p_offset &&
             segment.p_offset + segment.p_filesz <= load.p_offset + load.p_filesz;
    });
  }

  /// Address of the program headers as Linux before 5.18 computes it.
  static std::uint64_t old_kernels_table(const elf::Image& image) {
    const Elf64_Phdr* const first = image.find_segment(PT_LOAD);
    return first == nullptr ? 0 : first->p_vaddr - first->p_offset + image.header().e_phoff;
  }

  /// Linkers put the table after the ELF header, and most tools rely on it; where another tool has moved it, it stays.
  void table() const {
    const std::uint64_t size = out_.segments().size() * sizeof(Elf64_Phdr);
    const std::uint64_t begin = out_.header().e_phoff;
    if (has_moved_table()) moved_table({begin, begin + size});
    require(has_pages_below() || has_moved_table() || old_kernels_table(in_) == old_kernels_table(out_),
            "the first PT_LOAD must say the same of the program headers' address");
    require(size <= 4096, "the program headers must fit into one page");
    const bool grew = out_.segments().size() > in_.segments().size();
    const bool held = std::any_of(loads_.begin(), loads_.end(), [&](const Elf64_Phdr& load) {
      return load.p_offset <= begin && begin + size <= load.p_offset + load.p_filesz;
    });
    require(held || !grew, "the program headers must lie in a PT_LOAD");
    bool seen_load = false;
    bool in_order = true;
    for (const Elf64_Phdr& segment : out_.segments()) {
      seen_load = seen_load || segment.p_type == PT_LOAD;
      if (segment.p_type == PT_PHDR || segment.p_type == PT_INTERP) in_order = in_order && !seen_load;
      if (segment.p_type == PT_PHDR)
        require(segment.p_offset == begin && segment.p_filesz == size && segment.p_memsz == size &&
                    is_loaded(out_, segment),
                "PT_PHDR must be the program headers");
    }
    require(in_order || !keeps_phdr_first(), "PT_PHDR and PT_INTERP must precede the PT_LOADs");
  }

  bool has_moved_table() const { return out_.header().e_phoff != in_.header().e_phoff; }

  /// The table must be in the last PT_LOAD, which is new, as far from the first in the file as in memory: there Linux
  /// before 5.18 looks for it, and what reads the ELF header in memory.
  void moved_table(Range table) const {
    require(!loads_.empty() && !begins_as_before(loads_.back()) && (loads_.back().p_flags & PF_W) == 0,
            "program headers may move into a new read-only PT_LOAD only, the last");
    const Elf64_Phdr& last = loads_.back();
    require(Range{last.p_offset, last.p_offset + last.p_filesz}.contains(table) && table.begin % 8 == 0,
            "program headers that moved must lie in the last PT_LOAD, aligned to 8");
    const bool shares_page = std::any_of(loads_.begin(), loads_.end() - 1, [&](const Elf64_Phdr& load) {
      return load.p_filesz != 0 && load.p_offset + load.p_filesz > elf::align_down(last.p_offset, page_) &&
             load.p_offset < elf::align_up(last.p_offset + last.p_filesz, page_);
    });
    require(!shares_page, "program headers that moved must share no page of the file with another PT_LOAD");
    require(old_kernels_table(out_) == last.p_vaddr + (table.begin - last.p_offset),
            "program headers that moved must be as far from the first PT_LOAD in the file as in memory");
  }

  static const Elf64_Phdr* lowest_load(const elf::Image& image) {
    const Elf64_Phdr* lowest = nullptr;
    for (const Elf64_Phdr& segment : image.segments())
      if (segment.p_type == PT_LOAD && (lowest == nullptr || segment.p_vaddr < lowest->p_vaddr)) lowest = &segment;
    return lowest;
  }

  bool has_pages_below() const {
    const Elf64_Phdr* const old = lowest_load(in_);
    const Elf64_Phdr* const now = lowest_load(out_);
    return old != nullptr && now != nullptr && now->p_vaddr < old->p_vaddr;
  }

  /// vm.mmap_min_addr is 0x10000. Static programs linked with glibc 2.36 as first released find their program headers
  /// by the ELF header that the linker left in memory; GNU strip clears bytes of no section.
  void pages_below() const {
    const Elf64_Phdr& first = *lowest_load(out_);
    require(out_.header().e_type == ET_EXEC, "only a program at fixed addresses may have pages below its own");
    require(first.p_vaddr >= 0x10000 && first.p_flags == PF_R && first.p_offset == 0,
            "pages below the program's must be read-only, hold the headers, and not begin below 0x10000");
    for (const Elf64_Phdr& old : in_.segments()) {
      const bool holds_header = old.p_offset == 0 && old.p_filesz >= sizeof(Elf64_Ehdr);
      if (old.p_type != PT_LOAD || (!holds_header && bytes_before(old) == 0)) continue;
      const std::uint64_t address = old.p_vaddr - old.p_offset;
      const elf::Section* const section = out_.find_section(elf::old_headers_name);
      require_of([] { return std::string(elf::old_headers_name); },
                 section != nullptr && section->header.sh_flags == SHF_ALLOC && section->header.sh_addr == address &&
                     section->header.sh_size >= sizeof(Elf64_Ehdr),
                 "must cover the ELF header that stays in memory");
      const Elf64_Ehdr header = elf::load_header(out_.bytes_of(*section), out_.endian());
      require(
          address + header.e_phoff == first.p_vaddr + out_.header().e_phoff && header.e_phnum == out_.header().e_phnum,
          "the ELF header that stays in memory must lead to the program headers");
    }
  }

  /// What of the file's beginning is in memory with the lowest PT_LOAD, though that begins after it: pages are mapped
  /// as a whole.
  std::uint64_t bytes_before(const Elf64_Phdr& old) const {
    const bool is_lowest = old.p_type == PT_LOAD && old.p_vaddr == lowest_load(in_)->p_vaddr;
    const bool is_shared = old.p_offset >= sizeof(Elf64_Ehdr) && old.p_offset < 0x1000 && old.p_vaddr >= old.p_offset &&
                           (old.p_vaddr - old.p_offset) % 0x1000 == 0;
    return is_lowest && is_shared && has_pages_below() ? old.p_offset : 0;
  }

  bool keeps_phdr_first() const {
    bool seen_load = false;
    for (const Elf64_Phdr& segment : in_.segments()) {
      seen_load = seen_load || segment.p_type == PT_LOAD;
      if (seen_load && (segment.p_type == PT_PHDR || segment.p_type == PT_INTERP)) return false;
    }
    return true;
  }

  void loads() const {
    const Elf64_Phdr* previous = nullptr;
    const bool input_agrees = std::ranges::all_of(
        in_.segments(), [&](const Elf64_Phdr& old) { return old.p_type != PT_LOAD || agrees_by_page(old); });
    for (const Elf64_Phdr& load : loads_) {
      const auto name = [&] { return "the PT_LOAD at " + hex(load.p_vaddr); };
      require_of(name, load.p_filesz <= load.p_memsz, "must not have more bytes in the file than in memory");
      require_of(name,
                 load.p_filesz == 0 || (load.p_offset <= out_.file_bytes().size() &&
                                        load.p_filesz <= out_.file_bytes().size() - load.p_offset),
                 "must lie in the file");
      require_of(name, elf::is_power_of_two_or_zero(load.p_align), "must be aligned to a power of two");
      require_of(name, (load.p_vaddr - load.p_offset) % std::max<std::uint64_t>(load.p_align, 1) == 0,
                 "must have an address and a file offset that agree modulo its alignment");
      if (previous != nullptr) {
        require_of(name, load.p_vaddr >= previous->p_vaddr + previous->p_memsz, "must follow the one before it");
        // A linker that aligns .text to more than a page puts the next PT_LOAD into what it is aligned to.
        const bool was_so = begins_as_before(load) && ends_as_before(*previous);
        require_of(name,
                   was_so || elf::align_down(load.p_vaddr, page_) >=
                                 elf::align_up(previous->p_vaddr + previous->p_memsz, page_),
                   "must share no page with the one before it");
      }
      require_of(name, agrees_by_page(load) || !input_agrees, "must agree with its file offset modulo a kernel's page");
      previous = &load;
    }
    // Static position independent programs find themselves by the one PT_LOAD at file offset 0.
    const auto first_loads = [](const elf::Image& image) {
      return std::count_if(image.segments().begin(), image.segments().end(),
                           [](const Elf64_Phdr& s) { return s.p_type == PT_LOAD && s.p_offset == 0; });
    };
    require(first_loads(out_) <= std::max<std::ptrdiff_t>(1, first_loads(in_)),
            "only one PT_LOAD may have file offset 0");
  }

  /// AArch64's kernels with pages of 64 KiB map no segment that agrees in less, whatever its alignment says.
  bool agrees_by_page(const Elf64_Phdr& load) const {
    const std::uint64_t page = std::min(elf::layout_page(in_), elf::machine_of(in_).largest_page);
    return (load.p_vaddr - load.p_offset) % page == 0;
  }

  bool begins_as_before(const Elf64_Phdr& load) const {
    return any_old_load([&](const Elf64_Phdr& old) { return old.p_vaddr == load.p_vaddr; });
  }
  bool ends_as_before(const Elf64_Phdr& load) const {
    return any_old_load(
        [&](const Elf64_Phdr& old) { return old.p_vaddr + old.p_memsz == load.p_vaddr + load.p_memsz; });
  }
  template <typename Predicate>
  bool any_old_load(const Predicate& predicate) const {
    return std::ranges::any_of(in_.segments(),
                               [&](const Elf64_Phdr& old) { return old.p_type == PT_LOAD && predicate(old); });
  }

  /// Every program header of the input is there but for a redundant PT_NOTE, in the same order, and describes the same
  /// bytes.
  void kept_segments() const {
    auto next = out_.segments().begin();
    for (const Elf64_Phdr& old : in_.segments()) {
      if (old.p_type == PT_NULL || old.p_type == added_.segment_type || is_spared(old)) continue;
      next = std::find_if(next, out_.segments().end(), [&](const Elf64_Phdr& s) {
        return s.p_type == old.p_type && (old.p_type != PT_LOAD || s.p_vaddr + bytes_before(old) == old.p_vaddr);
      });
      require(next != out_.segments().end(), "every program header of the input must be kept");
      kept_segment(old, *next++);
    }
  }

  /// PT_GNU_PROPERTY says the same as this PT_NOTE, and there is one PT_NOTE less.
  bool is_spared(const Elf64_Phdr& old) const {
    const Elf64_Phdr* const property = in_.find_segment(PT_GNU_PROPERTY);
    const auto notes = [](const elf::Image& image) {
      return std::count_if(image.segments().begin(), image.segments().end(),
                           [](const Elf64_Phdr& s) { return s.p_type == PT_NOTE; });
    };
    return old.p_type == PT_NOTE && property != nullptr && old.p_vaddr == property->p_vaddr &&
           old.p_offset == property->p_offset && old.p_memsz == property->p_memsz &&
           old.p_filesz == property->p_filesz && notes(out_) + 1 == notes(in_);
  }

  void kept_segment(const Elf64_Phdr& old, const Elf64_Phdr& now) const {
    const auto name = [&] { return elf::segment_type_name(old.p_type); };
    // Less than a page is too little for tools that lay the file out again; loads() sees that more is true.
    const bool raised = old.p_type == PT_LOAD && old.p_align < 0x1000 && now.p_align == 0x1000;
    require_of(name, old.p_flags == now.p_flags && (old.p_align == now.p_align || raised),
               "must keep its flags and alignment");
    const bool may_move = old.p_type == PT_INTERP || old.p_type == PT_NOTE || old.p_type == PT_GNU_PROPERTY;
    if (old.p_type == PT_PHDR && (has_pages_below() || has_moved_table())) return;  // table() says where it is
    const std::uint64_t before = bytes_before(old);
    require_of(name, may_move || old.p_vaddr == now.p_vaddr + before, "must keep its address");
    if (old.p_type == PT_PHDR) return;
    const bool may_grow = old.p_type == PT_LOAD && old.p_filesz == old.p_memsz && (old.p_flags & PF_W) == 0;
    require_of(name, may_grow || (old.p_filesz + before == now.p_filesz && old.p_memsz + before == now.p_memsz),
               "must keep its size");
    if (elf::is_stale_property(in_, old)) return stale_property(old, now);
    if (may_move && old.p_filesz != 0) {
      require_of(name, is_loaded(out_, now) || !is_loaded(in_, old), "must be loaded");
      const auto was = moved_notes(in_, elf::file_range(old), now.p_vaddr - old.p_vaddr);
      const auto is = out_.slice(now.p_offset, now.p_filesz, "segment");
      require_of(name, equal_bytes(was, is), "must keep its bytes");
    }
  }

  /// What it leads to was no note, and is none now.
  void stale_property(const Elf64_Phdr& old, const Elf64_Phdr& now) const {
    const auto name = [&] { return elf::segment_type_name(old.p_type); };
    require_of(name, old.p_vaddr == now.p_vaddr, "must keep its address, as it leads to no note");
    const auto bytes = out_.slice(now.p_offset, now.p_filesz, "segment");
    require_of(name, !elf::has_property_note(bytes, out_.endian()), "must not begin to lead to a note");
  }

  const Elf64_Shdr& section_header() const {
    const elf::Section* const section = out_.find_section(added_.name);
    if (section == nullptr) throw LayoutViolation(in_.name(), "there must be a " + std::string(added_.name));
    return section->header;
  }

  /// Stack tracers read one PT_GNU_SFRAME.
  void segment_of_section() const {
    const auto& segments = out_.segments();
    const auto name = [&] { return elf::segment_type_name(*added_.segment_type); };
    if (std::ranges::count(segments, *added_.segment_type, &Elf64_Phdr::p_type) != 1)
      throw LayoutViolation(in_.name(), "there must be one " + name());
    const Elf64_Phdr& segment = *out_.find_segment(*added_.segment_type);
    const Elf64_Shdr& header = section_header();
    require_of(name,
               segment.p_flags == PF_R && segment.p_align == added_.alignment && segment.p_vaddr == header.sh_addr &&
                   segment.p_offset == header.sh_offset && segment.p_filesz == header.sh_size &&
                   segment.p_memsz == header.sh_size,
               "must be ", std::string(added_.name));
  }

  /// Stack tracers want it in one mapping that never changes its protection.
  void section() const {
    const auto name = [&] { return std::string(added_.name); };
    const Elf64_Shdr& header = section_header();
    require_of(name,
               header.sh_type == added_.type && header.sh_flags == SHF_ALLOC &&
                   header.sh_addralign == added_.alignment && header.sh_addr % added_.alignment == 0,
               "must be allocated, read-only and aligned to ", std::to_string(added_.alignment));
    const std::uint64_t end = header.sh_addr + header.sh_size;
    require_of(name,
               std::count_if(loads_.begin(), loads_.end(),
                             [&](const Elf64_Phdr& load) {
                               return (load.p_flags & (PF_R | PF_W)) == PF_R && header.sh_addr >= load.p_vaddr &&
                                      end <= load.p_vaddr + load.p_filesz &&
                                      header.sh_addr - load.p_vaddr == header.sh_offset - load.p_offset;
                             }) == 1,
               "must lie in one read-only PT_LOAD");
    for (const Elf64_Phdr& other : out_.segments()) {
      // .tbss, the rest of PT_TLS, occupies no addresses.
      const std::uint64_t size = other.p_type == PT_TLS ? other.p_filesz : other.p_memsz;
      const bool apart = other.p_vaddr + size <= header.sh_addr || end <= other.p_vaddr;
      const bool changes = other.p_type == PT_GNU_RELRO || other.p_type == PT_TLS;
      if (!apart && size != 0 && changes)
        throw LayoutViolation(in_.name(), name() + " must not lie in " + elf::segment_type_name(other.p_type));
    }
  }

  const elf::Image& in_;
  const elf::Image& out_;
  const elf::NewSection& added_;
  std::vector<Elf64_Phdr> loads_;
  std::uint64_t page_;
};

}  // namespace

void check_layout(const elf::Image& input, const elf::Image& output, Contents contents, const elf::NewSection& added) {
  LayoutCheck(input, output, added).run(contents);
}

void check_filled(const elf::Image& input, const elf::Section& section, std::span<const std::byte> bytes,
                  const elf::Image& output) {
  const auto require = [&](bool holds, const char* rule) {
    if (!holds) throw LayoutViolation(output.name(), rule);
  };
  const auto before = input.file_bytes(), after = output.file_bytes();
  const std::uint64_t begin = section.header.sh_offset, end = begin + section.header.sh_size;
  require(before.size() == after.size(), "the file keeps its size");
  require(equal_bytes(before.first(begin), after.first(begin)), "bytes before the section stay");
  require(equal_bytes(before.subspan(end), after.subspan(end)), "bytes after the section stay");
  const auto filled = after.subspan(begin, end - begin);
  require(equal_bytes(filled.first(bytes.size()), bytes), "the section has its contents");
  require(std::ranges::all_of(filled.subspan(bytes.size()), [](std::byte b) { return b == std::byte{0}; }),
          "the rest of the section is zero");
}

}  // namespace sframe_gen::rewrite
