#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "elf/existing_sframe.hpp"
#include "elf/file_space.hpp"
#include "elf/image.hpp"
#include "elf/layout.hpp"
#include "elf/load_growth.hpp"
#include "elf/movable.hpp"

namespace sframe_gen::elf {

/// A combination of plans to try.
struct Attempt {
  SectionPlan section = SectionPlan::Gap;
  TablePlan table = TablePlan::Free;
  std::size_t load = 0;     ///< SectionPlan::Gap: which PT_LOAD grows
  bool far = false;         ///< allow file insertions of a MiB and more
  bool drops_note = false;  ///< a PT_NOTE that says what PT_GNU_PROPERTY says gives its program header away
};

/// Why an attempt does not work.
struct Obstacle {
  bool in_table = false;  ///< the program headers find no room
  std::string why;
};

/// A group or the new section at its place.
struct Placed {
  Group group;  ///< empty for the new section
  bool in_tail = false;
  std::size_t load = 0;       ///< unless in the tail
  std::uint64_t address = 0;  ///< in the tail, until that is placed: offset from its beginning
  std::uint64_t offset = 0;   ///< in the output
};

/// The new PT_LOAD of SectionPlan::Tail.
struct Tail {
  std::uint64_t size = 0;
  std::uint64_t alignment = 16;
  std::uint64_t address = 0;
  std::uint64_t offset = 0;  ///< in the output
};

/// One attempt at a layout, worked out on a private copy of who owns which bytes and addresses.
class Draft {
 public:
  Draft(const Image& image, const Movability& movability, const ExistingSframe& existing, const Attempt& attempt,
        const NewSection& section, std::uint64_t section_size);

  std::optional<Obstacle> work_out();
  Layout layout() const;

 private:
  std::optional<Obstacle> clear_table();
  std::optional<Obstacle> place_groups();
  std::optional<Obstacle> place_section();
  std::optional<Obstacle> make_file_room();
  std::optional<std::string> place_tail_in_file();
  std::optional<std::string> place_group(Placed& placed);
  std::uint64_t segment_count() const;
  std::uint64_t table_end() const;
  std::optional<std::size_t> header_load() const;
  std::uint64_t new_offset(const Placed& placed) const;

  void lay_out_segments(Layout& layout) const;
  void lay_out_sections(Layout& layout) const;
  void lay_out_moves(Layout& layout) const;
  void lay_out_end_of_file(Layout& layout) const;

  const Image* image_;
  const Movability* movability_;
  const ExistingSframe* existing_;
  Attempt attempt_;
  NewSection new_section_;
  std::uint64_t section_size_;
  std::optional<std::size_t> dropped_note_;  ///< index of a program header
  FileSpace space_;
  LoadGrowth loads_;
  FileRange hole_;  ///< free bytes behind the program headers, cleared by what was evicted
  std::vector<Placed> groups_;
  Placed section_;
  Tail tail_;
  OffsetMap load_map_;  ///< without the insertion for the tail, which lies behind all PT_LOADs
  OffsetMap map_;
};

}  // namespace sframe_gen::elf
