#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "elf/image.hpp"
#include "elf/plan/attempt.hpp"
#include "elf/plan/existing_sframe.hpp"
#include "elf/plan/file_space.hpp"
#include "elf/plan/layout.hpp"
#include "elf/plan/load_growth.hpp"
#include "elf/plan/movable.hpp"

namespace sframe_gen::elf {

/// Why an attempt does not work.
struct Obstacle {
  bool in_table = false;  ///< the program headers find no room
  std::string why;
};

/// A group or the new section at its place.
struct Placed {
  Group group;  ///< empty for the new section
  bool in_tail = false;
  bool in_head = false;
  std::size_t load = 0;       ///< unless in tail or head
  std::uint64_t address = 0;  ///< in tail or head, until that is placed: offset from its beginning
  std::uint64_t offset = 0;   ///< in the output
};

/// The new PT_LOAD of SectionPlan::Tail.
struct Tail {
  std::uint64_t size = 0;
  std::uint64_t alignment = 16;
  std::uint64_t address = 0;
  std::uint64_t offset = 0;  ///< in the output
};

/// The new first PT_LOAD of TablePlan::Below, at file offset 0. What stood there follows at file offset `pages`, with
/// the address it had.
struct Head {
  std::uint64_t size = 0;   ///< bytes that it holds; until the section is placed, without that
  std::uint64_t pages = 0;  ///< bytes inserted in front of all others, a multiple of the page
  std::uint64_t address = 0;
};

/// One attempt at a layout, worked out on a private copy of who owns which bytes and addresses.
class Draft {
 public:
  Draft(const Image& image, const Movability& movability, const ExistingSframe& existing, const Attempt& attempt,
        const NewSection& section, std::uint64_t section_size);

  std::optional<Obstacle> work_out();
  Cost cost() const;
  /// What it does to the file, in a few words.
  std::string description() const;
  Layout layout() const;

 private:
  std::optional<Obstacle> put_pages_below();
  void keep_build_id_in_first_page();
  std::optional<Obstacle> clear_table();
  std::optional<Obstacle> place_groups();
  std::optional<Obstacle> place_section();
  std::optional<Obstacle> make_file_room();
  std::optional<std::string> place_tail_in_file();
  std::optional<std::string> place_group(Placed& placed);
  std::optional<std::string> place_in_tail(Placed& placed);
  std::uint64_t segment_count() const;
  FileRange old_table() const;
  std::uint64_t table_end() const;
  std::optional<std::size_t> header_load() const;
  std::uint64_t new_offset(const Placed& placed) const;
  TablePlan table_plan() const;
  std::optional<std::uint64_t> build_id_offset() const;
  bool moves_build_id() const;

  void lay_out_segments(Layout& layout) const;
  void lay_out_sections(Layout& layout) const;
  void lay_out_moves(Layout& layout) const;
  void lay_out_old_headers(Layout& layout) const;
  void lay_out_end_of_file(Layout& layout) const;
  void lay_out_no_sections(Layout& layout, std::uint64_t end) const;

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
  Head head_;
  bool wastes_ = false;  ///< a MiB and more, see load_growth.hpp
  OffsetMap load_map_;   ///< without the insertion for the tail, which lies behind all PT_LOADs
  OffsetMap map_;
};

}  // namespace sframe_gen::elf
