#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "elf/image.hpp"
#include "elf/new_section.hpp"
#include "rewrite/plan/existing_sframe.hpp"
#include "rewrite/plan/file_space.hpp"
#include "rewrite/plan/movable.hpp"
#include "rewrite/plan/plans.hpp"

/// What stands where under one plan, and what can be asked of it.
namespace sframe_gen::rewrite {

/// What there is to plan; all of it is the same for every plan. What it names must outlive it.
struct Task {
  const elf::Image& image;
  const Movability& movability;
  const ExistingSframe& existing;
  const FileSpace& space;                ///< before anything is released
  const LoadGrowth& loads;               ///< before anything is taken
  const std::optional<Range>& build_id;  ///< its file offsets, if readers look for it there (elf/notes.hpp)
  const elf::NewSection& section;
  std::uint64_t section_size;  ///< bytes
  HeaderMoves moves;
};

/// Why a plan does not work.
struct PlanFailure {
  bool in_table = false;  ///< the program headers find no room
  std::string why;
};

/// A group or the new section at its place.
struct Placed {
  MovedSections group;  ///< empty for the new section
  bool in_tail = false;
  bool in_head = false;
  std::size_t load = 0;       ///< unless in tail or head
  std::uint64_t address = 0;  ///< in tail or head, until that is placed: offset from its beginning
  std::uint64_t offset = 0;   ///< in the output
};

/// The new PT_LOAD of SectionPlan::Tail.
struct Tail {
  std::uint64_t size = 0;
  std::uint64_t table = 0;  ///< TablePlan::Moved: of the program headers, from its beginning
  std::uint64_t alignment = 16;
  std::uint64_t address = 0;
  std::uint64_t offset = 0;  ///< in the output
};

/// The new first PT_LOAD of TablePlan::Below, at file offset 0. What stood there follows at file offset `pages`, with
/// the address it had.
struct Head {
  std::uint64_t size = 0;   ///< bytes that it holds; until the section is placed, without that
  std::uint64_t pages = 0;  ///< bytes inserted in front of all others, a multiple of the page
  std::uint64_t alignment = 0;
  std::uint64_t address = 0;
};

/// The owner of each byte and address under one plan.
struct Placement {
  LayoutPlan plan;
  std::optional<std::size_t> dropped_note;  ///< index of a program header
  std::uint64_t segment_count = 0;          ///< program headers of the output
  FileSpace space;
  LoadGrowth loads;
  std::vector<Placed> groups;  ///< what made room for program headers
  Placed section;
  Tail tail;
  Head head;
  bool wastes = false;  ///< a MiB and more, see LoadGrowth
  OffsetMap load_map;   ///< without the insertion for the tail, which is after all PT_LOADs
  OffsetMap map;
};

Cost cost_of(const Task& task, const Placement& placement);
/// Tells `plan`, which is possible, what it does to the file.
void describe(const Task& task, const Placement& placement, TriedPlan& plan);

/// Fails where Linux before 5.18 cannot read the program headers of the output: it reads no more than a page of 4 KiB.
std::optional<PlanFailure> check_table_size(const Placement& placement);

/// Index of the PT_LOAD that holds the program headers.
std::optional<std::size_t> header_load(const elf::Image& image);

/// What had to move, which may be less than the plan allows.
TablePlan table_plan_of(const Placement& placement);

/// Whether the build-id leaves the first page.
bool moves_build_id(const Task& task, const Placement& placement);

}  // namespace sframe_gen::rewrite
