#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "elf/image.hpp"
#include "elf/new_section.hpp"
#include "elf/plan/offset_map.hpp"

namespace sframe_gen::elf {

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

}  // namespace sframe_gen::elf
