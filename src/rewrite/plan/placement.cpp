#include "rewrite/plan/placement.hpp"

#include <algorithm>
#include <utility>

#include "elf/notes.hpp"

namespace sframe_gen::rewrite {

std::optional<PlanFailure> check_table_size(const Placement& placement) {
  constexpr std::uint64_t most_bytes = 4096;
  if (placement.segment_count * sizeof(Elf64_Phdr) <= most_bytes) return std::nullopt;
  return PlanFailure{.in_table = true, .why = "the table would exceed one page"};
}

std::optional<std::size_t> header_load(const elf::Image& image) {
  return elf::find_load_at_offset(image, image.header().e_phoff);
}

bool moves_build_id(const Task& task, const Placement& placement) {
  if (!task.build_id) return false;
  const std::uint64_t before = task.build_id->begin;
  // It looks for the program headers right after the ELF header, too.
  if (placement.plan.table == TablePlan::Moved) return true;
  std::uint64_t now = placement.map(before);
  for (const Placed& placed : placement.groups) {
    const Range& range = placed.group.range;
    if (range.contains(before)) now = placed.offset + (before - range.begin);
  }
  return !elf::is_in_first_page({now, now + task.build_id->size()});
}

Cost cost_of(const Task& task, const Placement& placement) {
  Cost cost = least_cost(placement.plan);
  cost.waste = placement.wastes;
  const bool fixed = task.image.header().e_type == ET_EXEC;
  cost.in_tail = fixed && std::any_of(placement.groups.begin(), placement.groups.end(),
                                      [](const Placed& placed) { return placed.in_tail; });
  cost.build_id = moves_build_id(task, placement);
  for (const Insertion& insertion : placement.map.insertions()) cost.growth += insertion.bytes;
  return cost;
}

void describe(const Task& task, const Placement& placement, TriedPlan& plan) {
  const Cost costs = cost_of(task, placement);
  plan.possible = true;
  for (const Placed& placed : placement.groups)
    for (const std::uint32_t index : placed.group.sections) plan.moved.push_back(task.image.sections()[index].name);
  plan.moved_to_new_segment = costs.in_tail;
  plan.build_id_left_first_page = costs.build_id;
  plan.inserted = costs.growth;
  plan.mostly_unused = costs.waste;
}

TablePlan table_plan_of(const Placement& placement) {
  if (placement.plan.table >= TablePlan::Below) return placement.plan.table;
  TablePlan plan = TablePlan::Free;
  for (const Placed& placed : placement.groups) plan = std::max(plan, std::max(placed.group.plan, TablePlan::Notes));
  return plan;
}

}  // namespace sframe_gen::rewrite
