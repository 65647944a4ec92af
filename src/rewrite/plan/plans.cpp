#include "rewrite/plan/plans.hpp"

#include <algorithm>

#include "elf/image.hpp"
#include "elf/preconditions.hpp"
#include "support/text.hpp"

namespace sframe_gen::rewrite {

namespace {

/// PT_LOADs to try for SectionPlan::Gap, best first: the one whose old section can be extended, the one that holds
/// .eh_frame, other read-only ones. Executable ones only where nothing else is possible.
std::vector<std::size_t> gap_candidates(const elf::Image& image, const ExistingSframe& existing, bool desperate) {
  std::vector<std::size_t> candidates;
  const auto add = [&](std::size_t load) {
    if (std::find(candidates.begin(), candidates.end(), load) == candidates.end()) candidates.push_back(load);
  };
  if (existing.is_last && existing.load) add(*existing.load);
  const auto each_load = [&](auto&& wanted) {
    for (std::size_t i = 0; i < image.segments().size(); ++i)
      if (image.segments()[i].p_type == PT_LOAD && wanted(image.segments()[i])) add(i);
  };
  const elf::Section* eh_frame = image.find_section(".eh_frame");
  if (eh_frame != nullptr) {
    each_load([&](const Elf64_Phdr& load) { return elf::holds_address(load, eh_frame->header.sh_addr); });
  }
  each_load([](const Elf64_Phdr& load) { return (load.p_flags & (PF_R | PF_W | PF_X)) == PF_R; });
  if (desperate || eh_frame == nullptr) each_load([](const Elf64_Phdr& load) { return (load.p_flags & PF_W) == 0; });
  return candidates;
}

void add_plans(SectionPlan section, const LayoutPlan& base, const std::vector<std::size_t>& loads,
               std::vector<LayoutPlan>& plans) {
  LayoutPlan plan = base;
  plan.section = section;
  if (section != SectionPlan::Gap) {
    plans.push_back(plan);
    return;
  }
  for (const std::size_t load : loads) {
    plan.load = load;
    plans.push_back(plan);
    ++plan.load_rank;
  }
}

}  // namespace

std::optional<std::size_t> redundant_note(const elf::Image& image) {
  const Elf64_Phdr* const property = image.find_segment(PT_GNU_PROPERTY);
  for (std::size_t i = 0; property != nullptr && i < image.segments().size(); ++i) {
    const Elf64_Phdr& note = image.segments()[i];
    if (note.p_type == PT_NOTE && note.p_offset == property->p_offset && note.p_vaddr == property->p_vaddr &&
        note.p_filesz == property->p_filesz && note.p_memsz == property->p_memsz)
      return i;
  }
  return {};
}

Cost least_cost(const LayoutPlan& plan) {
  Cost cost;
  cost.moves_table = plan.table == TablePlan::Moved;
  cost.below = plan.table == TablePlan::Below;
  cost.tables = plan.table == TablePlan::DynamicTables;
  cost.notes = plan.table == TablePlan::Notes || cost.tables;
  cost.drops_note = plan.drops_note;
  cost.section = plan.section;
  cost.load_rank = plan.load_rank;
  return cost;
}

std::vector<LayoutPlan> plans_for(const elf::Image& image, const ExistingSframe& existing, HeaderMoves moves) {
  const bool only_gaps = elf::is_dynamic_loader(image);
  const auto loads = gap_candidates(image, existing, only_gaps);
  std::vector<SectionPlan> sections{SectionPlan::Gap};
  if (existing.section) sections.push_back(SectionPlan::Replace);
  if (!only_gaps) sections.push_back(SectionPlan::Tail);
  std::vector<LayoutPlan> plans;
  for (const bool drops_note : {false, true}) {
    if (drops_note && !redundant_note(image)) continue;
    LayoutPlan plan;
    plan.drops_note = drops_note;
    for (const TablePlan table : {TablePlan::Free, TablePlan::Notes, TablePlan::DynamicTables}) {
      plan.table = table;
      for (const SectionPlan section : sections) add_plans(section, plan, loads, plans);
    }
  }
  if (image.header().e_type == ET_EXEC) {
    LayoutPlan plan;
    plan.table = TablePlan::Below;
    for (const SectionPlan section : {SectionPlan::Head, SectionPlan::Tail}) add_plans(section, plan, loads, plans);
  }
  if (moves == HeaderMoves::IfNeeded && !only_gaps) {
    LayoutPlan plan;
    plan.table = TablePlan::Moved;
    add_plans(SectionPlan::Tail, plan, loads, plans);
  }
  std::stable_sort(plans.begin(), plans.end(),
                   [](const LayoutPlan& a, const LayoutPlan& b) { return least_cost(a) < least_cost(b); });
  return plans;
}

}  // namespace sframe_gen::rewrite
