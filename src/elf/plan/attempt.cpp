#include "elf/plan/attempt.hpp"

#include <algorithm>
#include <array>

#include "elf/load_lookup.hpp"
#include "elf/plan/segment_table.hpp"
#include "elf/preconditions.hpp"
#include "support/text.hpp"

namespace sframe_gen::elf {

namespace {

/// PT_LOADs to try for SectionPlan::Gap, best first: the one whose old section can be extended, the one that holds
/// .eh_frame, other read-only ones. Executable ones only where nothing else is possible.
std::vector<std::size_t> gap_candidates(const Image& image, const ExistingSframe& existing, bool desperate) {
  std::vector<std::size_t> candidates;
  const auto add = [&](std::size_t load) {
    if (std::find(candidates.begin(), candidates.end(), load) == candidates.end()) candidates.push_back(load);
  };
  if (existing.is_last && existing.load) add(*existing.load);
  const auto each_load = [&](auto&& wanted) {
    for (std::size_t i = 0; i < image.segments().size(); ++i)
      if (image.segments()[i].p_type == PT_LOAD && wanted(image.segments()[i])) add(i);
  };
  const Section* eh_frame = image.find_section(".eh_frame");
  if (eh_frame != nullptr) {
    each_load([&](const Elf64_Phdr& load) { return holds_address(load, eh_frame->header.sh_addr); });
  }
  each_load([](const Elf64_Phdr& load) { return (load.p_flags & (PF_R | PF_W | PF_X)) == PF_R; });
  if (desperate || eh_frame == nullptr) each_load([](const Elf64_Phdr& load) { return (load.p_flags & PF_W) == 0; });
  return candidates;
}

void add_attempts(SectionPlan section, const Attempt& base, const std::vector<std::size_t>& loads,
                  std::vector<Attempt>& attempts) {
  Attempt attempt = base;
  attempt.section = section;
  if (section != SectionPlan::Gap) {
    attempts.push_back(attempt);
    return;
  }
  for (const std::size_t load : loads) {
    attempt.load = load;
    attempts.push_back(attempt);
    ++attempt.load_rank;
  }
}

}  // namespace

Cost least_cost(const Attempt& attempt) {
  Cost cost;
  cost.below = attempt.table == TablePlan::Below;
  cost.tables = attempt.table == TablePlan::DynamicTables;
  cost.notes = attempt.table == TablePlan::Notes || cost.tables;
  cost.drops_note = attempt.drops_note;
  cost.section = attempt.section;
  cost.load_rank = attempt.load_rank;
  return cost;
}

std::vector<Attempt> attempts_for(const Image& image, const ExistingSframe& existing) {
  const bool only_gaps = is_dynamic_loader(image);
  const auto loads = gap_candidates(image, existing, only_gaps);
  std::vector<SectionPlan> sections{SectionPlan::Gap};
  if (existing.section) sections.push_back(SectionPlan::Replace);
  if (!only_gaps) sections.push_back(SectionPlan::Tail);
  std::vector<Attempt> attempts;
  for (const bool drops_note : {false, true}) {
    if (drops_note && !redundant_note(image)) continue;
    Attempt attempt;
    attempt.drops_note = drops_note;
    for (const TablePlan table : {TablePlan::Free, TablePlan::Notes, TablePlan::DynamicTables}) {
      attempt.table = table;
      for (const SectionPlan section : sections) add_attempts(section, attempt, loads, attempts);
    }
  }
  if (image.header().e_type == ET_EXEC) {
    Attempt attempt;
    attempt.table = TablePlan::Below;
    for (const SectionPlan section : {SectionPlan::Head, SectionPlan::Tail})
      add_attempts(section, attempt, loads, attempts);
  }
  std::stable_sort(attempts.begin(), attempts.end(),
                   [](const Attempt& a, const Attempt& b) { return least_cost(a) < least_cost(b); });
  return attempts;
}

std::string name_of(const Attempt& attempt, const Image& image) {
  std::string name = std::string(short_name(attempt.section)) + "+" + short_name(attempt.table);
  if (attempt.section == SectionPlan::Gap) name += " behind " + hex(image.segments()[attempt.load].p_vaddr);
  if (attempt.drops_note) name += ", a PT_NOTE less";
  return name;
}

}  // namespace sframe_gen::elf
