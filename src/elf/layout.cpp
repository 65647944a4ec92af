#include "elf/layout.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "elf/draft.hpp"
#include "elf/preconditions.hpp"
#include "elf/segment_table.hpp"
#include "support/text.hpp"

namespace sframe_gen::elf {

namespace {

/// Offsets in SFrame are 32 bits wide.
constexpr std::uint64_t largest_section = UINT32_MAX;

/// PT_LOADs to try for SectionPlan::Gap, best first: the one whose old .sframe can be extended, the one that holds
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
    each_load([&](const Elf64_Phdr& load) {
      return eh_frame->header.sh_addr >= load.p_vaddr && eh_frame->header.sh_addr - load.p_vaddr < load.p_memsz;
    });
  }
  each_load([](const Elf64_Phdr& load) { return (load.p_flags & (PF_R | PF_W | PF_X)) == PF_R; });
  if (desperate || eh_frame == nullptr) each_load([](const Elf64_Phdr& load) { return (load.p_flags & PF_W) == 0; });
  return candidates;
}

std::vector<Attempt> attempts_for(const Image& image, const ExistingSframe& existing) {
  constexpr std::array<Attempt, 9> preference{{
      {SectionPlan::Replace, TablePlan::Free},
      {SectionPlan::Replace, TablePlan::Notes},
      {SectionPlan::Replace, TablePlan::DynamicTables},
      {SectionPlan::Gap, TablePlan::Free},
      {SectionPlan::Gap, TablePlan::Notes},
      {SectionPlan::Tail, TablePlan::Free},
      {SectionPlan::Tail, TablePlan::Notes},
      {SectionPlan::Gap, TablePlan::DynamicTables},
      {SectionPlan::Tail, TablePlan::DynamicTables},
  }};
  const bool only_gaps = is_dynamic_loader(image);
  const auto loads = gap_candidates(image, existing, only_gaps);
  std::vector<Attempt> attempts;
  // Last: whoever reads notes through program headers no longer finds the properties.
  for (const auto& [drops_note, far] : {std::pair{false, false}, {false, true}, {true, false}, {true, true}}) {
    if (drops_note && !redundant_note(image)) continue;
    for (Attempt attempt : preference) {
      attempt.far = far;
      attempt.drops_note = drops_note;
      if (attempt.section == SectionPlan::Tail && only_gaps) continue;
      if (attempt.section == SectionPlan::Replace && !existing.section) continue;
      if (attempt.section != SectionPlan::Gap) {
        attempts.push_back(attempt);
        continue;
      }
      for (const std::size_t load : loads) {
        attempt.load = load;
        attempts.push_back(attempt);
      }
    }
  }
  return attempts;
}

}  // namespace

const char* short_name(SectionPlan plan) {
  switch (plan) {
    case SectionPlan::Replace:
      return "replaced";
    case SectionPlan::Gap:
      return "S1";
    case SectionPlan::Tail:
      return "S2";
  }
  return "";
}

const char* short_name(TablePlan plan) {
  switch (plan) {
    case TablePlan::Free:
      return "T0";
    case TablePlan::Notes:
      return "T1";
    case TablePlan::DynamicTables:
      return "T2";
  }
  return "";
}

Layout plan_layout(const Image& image, std::uint64_t section_size, const NewSection& section) {
  check_preconditions(image);
  if (section_size == 0 || section_size > largest_section)
    throw Refused(image.name(), "a " + std::string(section.name) + " of " + hex(section_size) + " bytes is impossible");
  const Movability movability(image);
  const ExistingSframe existing = find_existing_sframe(image, section);
  Obstacle obstacle;
  for (const Attempt& attempt : attempts_for(image, existing)) {
    Draft draft(image, movability, existing, attempt, section, section_size);
    const auto found = draft.work_out();
    if (!found) return draft.layout();
    // The last and most permissive plan's obstacle says best what is wrong.
    obstacle = *found;
  }
  std::string why = obstacle.why;
  if (obstacle.in_table) why = "no room for more program headers: " + why;
  if (is_dynamic_loader(image)) why = "is a dynamic loader, to which a segment cannot be added safely, and " + why;
  throw Refused(image.name(), why);
}

}  // namespace sframe_gen::elf
