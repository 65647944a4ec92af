#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "elf/image.hpp"
#include "elf/new_section.hpp"
#include "elf/plan/file_space.hpp"
#include "elf/plan/layout.hpp"

namespace sframe_gen::elf {

/// The section headers of the output. Sections keep their order; what moved and the new section stand where their
/// address puts them, since GNU strip and objcopy lay a file out in table order, and behind no unallocated section,
/// which dwz refuses.
class SectionTable {
 public:
  SectionTable(const Image& image, const OffsetMap& load_map, const OffsetMap& map);

  void move(std::uint32_t index, std::uint64_t offset, std::uint64_t address);
  /// `old_index`: the section that it replaces, whose symbols it inherits.
  void set_section(const NewSection& section, std::optional<std::uint32_t> old_index, std::uint64_t offset,
                   std::uint64_t address, std::uint64_t size);
  /// The record for undoing all this becomes the last section; its size comes later. To be called after `set_section`.
  void set_undo(const NewSection& section, std::optional<std::uint32_t> old_index);

  /// Gives the ELF header and program headers that stay in memory a section of their own.
  void cover_old_headers(const OldHeaders& headers);

  /// Fills in sections, new_index_of, section_names and the header's counts.
  void build(Layout& layout) const;

 private:
  std::uint64_t new_offset(const Section& section) const;
  void remap_links(Layout& layout) const;
  void name_sections(Layout& layout) const;

  const Image* image_;
  const OffsetMap* load_map_;
  const OffsetMap* map_;
  std::vector<Section> sections_;  ///< new ones have the indices behind the last
  std::vector<std::uint32_t> moved_;
  std::uint32_t added_ = 0;
  std::optional<std::uint32_t> undo_;
};

/// The program headers of the output.
class SegmentTable {
 public:
  /// `segments`: those of the input, grown, at the input's file offsets.
  SegmentTable(const Image& image, const std::vector<Elf64_Phdr>& segments, const OffsetMap& load_map,
               const OffsetMap& map);

  void move(std::size_t index, std::uint64_t offset, std::uint64_t address);
  /// The program header becomes unused.
  void drop(std::size_t index) { segments_[index].p_type = PT_NULL; }
  /// In front of all others, at file offset 0, with the ELF header and the program headers.
  void add_first_load(std::uint64_t address, std::uint64_t size, std::uint64_t alignment);
  /// The table itself stands elsewhere.
  void move_table(std::uint64_t offset, std::uint64_t address) { table_ = {offset, address}; }
  /// The PT_LOAD that shares the page of the ELF header holds it from now on.
  void take_in_header();
  void add_load(std::uint64_t offset, std::uint64_t address, std::uint64_t size, std::uint64_t alignment);
  void set_section(const NewSection& section, std::uint64_t offset, std::uint64_t address, std::uint64_t size);

  /// In the order of the input; a new PT_LOAD follows the last one, since they have to ascend, and the section's
  /// own takes the place of an old one or the last place. Has `count` entries; unused ones are PT_NULL.
  std::vector<Elf64_Phdr> build(std::size_t count) const;

 private:
  std::uint64_t new_offset(std::size_t index) const;
  bool is_last_load(std::size_t index) const;

  const Image* image_;
  std::vector<Elf64_Phdr> segments_;
  const OffsetMap* load_map_;
  const OffsetMap* map_;
  std::vector<bool> moved_;
  struct Place {
    std::uint64_t offset, address;
  };
  std::optional<Place> table_;  ///< where it does not stay
  std::optional<Elf64_Phdr> first_load_;
  std::vector<Elf64_Phdr> new_loads_;
  std::optional<Elf64_Phdr> section_;
};

/// A PT_NOTE that covers what PT_GNU_PROPERTY covers. On x86-64 glibc reads the latter since 2.32 and before that
/// either, and the kernel neither. On AArch64 both read the latter only, which says whether code wants branch target
/// checks. On s390x nothing reads either.
std::optional<std::size_t> redundant_note(const Image& image);

/// Whether most of `bytes` inserted for `needed` ones are a hole of a MiB and more, as in files linked for 2 MiB pages
/// (ld before 2.31, -z max-page-size).
bool is_wasteful(std::uint64_t bytes, std::uint64_t needed);

/// The PT_LOADs of the input, which may grow into the unused addresses behind them.
///
///     addresses   [R......]....|[RX......]..|[RW...       | next page boundary: another PT_LOAD's page starts here
///                         ^ take() hands these out, first come, first served
///     file        [R......][RX......]...                  where the file has no gap there, bytes are inserted
class LoadGrowth {
 public:
  /// `replaced` names the section whose old addresses are free.
  LoadGrowth(const Image& image, std::string_view replaced);

  /// `layout_page`: what addresses and file offsets have to agree in.
  std::uint64_t page() const { return page_; }
  /// With their new sizes, still at the file offsets of the input.
  const std::vector<Elf64_Phdr>& segments() const { return segments_; }
  /// First file offset behind what `load` had to keep of the input.
  std::uint64_t kept_end(std::size_t load) const;

  /// Gives up the last bytes of a PT_LOAD, from `address` on.
  void shrink(std::size_t load, std::uint64_t address);
  /// An address behind the end of `load`, if it is read-only and has the room.
  std::optional<std::uint64_t> take(std::size_t load, std::uint64_t size, std::uint64_t alignment);

  /// Plans file bytes for everything taken; sets `wastes` where an insertion is_wasteful. Returns why it does not work.
  std::optional<std::string> make_file_room(const FileSpace& space, OffsetMap& map, bool& wastes) const;

  /// First multiple of the page above every PT_LOAD.
  std::uint64_t address_above() const;

 private:
  std::uint64_t address_limit(std::size_t load) const;
  std::uint64_t insertion_unit(std::uint64_t at) const;

  const Image* image_;
  std::vector<Elf64_Phdr> segments_;
  std::vector<std::uint64_t> kept_size_;  ///< bytes of the input, by segment
  std::string_view replaced_;
  std::uint64_t page_;
};

}  // namespace sframe_gen::elf
