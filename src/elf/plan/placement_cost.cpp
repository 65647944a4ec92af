#include <algorithm>

#include "elf/build_id.hpp"
#include "elf/plan/placement.hpp"

namespace sframe_gen::elf {

namespace {

/// What a short name does not say.
const char* meaning_of(SectionPlan plan) {
  switch (plan) {
    case SectionPlan::Replace:
      return "goes over the one that is there";
    case SectionPlan::Gap:
      return "goes into the gap behind a segment";
    case SectionPlan::Head:
      return "goes into a segment below all others";
    case SectionPlan::Tail:
      return "goes into a segment above all others";
  }
  return "";
}

}  // namespace

bool moves_build_id(const Image& image, const Placement& placement) {
  const auto offset = build_id_in_first_page(image);
  if (!offset) return false;
  // It looks for the program headers right behind the ELF header, too.
  if (placement.plan.table == TablePlan::Moved) return true;
  std::uint64_t now = placement.map(*offset);
  for (const Placed& placed : placement.groups) {
    const FileRange& range = placed.group.range;
    if (range.begin <= *offset && *offset < range.end) now = placed.offset + (*offset - range.begin);
  }
  return !is_build_id_in_first_page(image, now);
}

Cost cost_of(const Image& image, const Placement& placement) {
  Cost cost = least_cost(placement.plan);
  cost.waste = placement.wastes;
  const bool fixed = image.header().e_type == ET_EXEC;
  cost.in_tail = fixed && std::any_of(placement.groups.begin(), placement.groups.end(),
                                      [](const Placed& placed) { return placed.in_tail; });
  cost.build_id = moves_build_id(image, placement);
  for (const Insertion& insertion : placement.map.insertions()) cost.growth += insertion.bytes;
  return cost;
}

std::string description_of(const Image& image, const Placement& placement) {
  const Cost costs = cost_of(image, placement);
  std::string text = std::string("the section ") + meaning_of(placement.plan.section);
  const auto add = [&](const std::string& part) { text += ", " + part; };
  for (const Placed& placed : placement.groups) {
    for (const std::uint32_t index : placed.group.sections) add(image.sections()[index].name + " moves");
  }
  if (costs.moves_table) add("the program headers move behind it");
  if (costs.in_tail) add("the new segment holds them too");
  if (costs.build_id) add("the build-id leaves the first page");
  add("inserts " + std::to_string(costs.growth) + " bytes" + (costs.waste ? ", most of them unused" : ""));
  return text;
}

}  // namespace sframe_gen::elf
