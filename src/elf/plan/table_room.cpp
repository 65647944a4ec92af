#include <algorithm>
#include <utility>

#include "elf/load_lookup.hpp"
#include "elf/plan/place_steps.hpp"

namespace sframe_gen::elf {

namespace {

/// Lets the group that claims these bytes move elsewhere.
std::optional<Obstacle> evict(const Task& task, Placement& placement, const Claim& claim, std::size_t load) {
  const auto& found = task.movability.group_at(claim.range.begin);
  if (const auto* immovable = std::get_if<Immovable>(&found)) return Obstacle{true, immovable->why};
  const auto& group = std::get<Group>(found);
  if (claim.is_load || group.plan > placement.plan.table || !group.range.contains(claim.range))
    return Obstacle{true, owner_of(claim) + " is in the way"};
  placement.space.release(group.range);
  placement.groups.push_back({group, false, false, load, 0, 0});
  return {};
}

/// Free bytes between the program headers and `end`.
std::variant<FileRange, Obstacle> find_hole(const Task& task, const Placement& placement, FileRange table,
                                            std::uint64_t end) {
  if (placement.plan.section == SectionPlan::Replace && task.existing.load) {
    // Its old bytes are free, but it comes back to the same place. lld puts it near the headers.
    const std::uint64_t section = task.image.sections()[*task.existing.section].header.sh_offset;
    const bool behind = section >= table.begin;
    if (behind && section < table.end) return Obstacle{true, "the section that is there is in the way"};
    if (behind) end = std::min(end, section);
  }
  const FileRange hole{table.end, end};
  return hole.empty() || !placement.space.is_zero(hole) ? FileRange{} : hole;
}

}  // namespace

std::variant<FileRange, Obstacle> make_table_room(const Task& task, Placement& placement) {
  const Image& image = task.image;
  if (placement.segment_count <= image.segments().size()) return FileRange{};
  if (!fits_page(placement.segment_count)) return Obstacle{true, "the table would exceed one page"};
  const auto load = header_load(image);
  if (!load) return Obstacle{true, "no PT_LOAD holds the headers"};
  const FileRange table{old_table(image).begin, table_end(image, placement)};
  const std::uint64_t held = image.segments()[*load].p_offset + image.segments()[*load].p_filesz;
  // Free Pascal's first PT_LOAD holds nothing but the headers and a note.
  if (held < table.end && !placement.loads.take(*load, table.end - held, 1))
    return Obstacle{true, "the PT_LOAD of the headers cannot grow"};
  const Claim* in_the_way = nullptr;
  while ((in_the_way = placement.space.next_claim(table.begin)) != nullptr && in_the_way->range.begin < table.end) {
    if (auto obstacle = evict(task, placement, *in_the_way, *load)) return std::move(*obstacle);
  }
  if (!placement.space.is_filler(table)) return Obstacle{true, "unknown bytes stand behind the table"};
  const std::uint64_t next_claim = in_the_way == nullptr ? UINT64_MAX : in_the_way->range.begin;
  return find_hole(task, placement, table, std::min(next_claim, held));
}

FileRange old_table(const Image& image) {
  const std::uint64_t begin = image.header().e_phoff;
  return {begin, begin + image.segments().size() * sizeof(Elf64_Phdr)};
}

std::uint64_t table_end(const Image& image, const Placement& placement) {
  return image.header().e_phoff + placement.segment_count * sizeof(Elf64_Phdr);
}

bool fits_page(std::uint64_t segment_count) {
  return segment_count * sizeof(Elf64_Phdr) <= 4096;
}

std::optional<std::size_t> header_load(const Image& image) {
  return find_load_at_offset(image, image.header().e_phoff);
}

}  // namespace sframe_gen::elf
