#include "elf/plan/layout.hpp"

#include <algorithm>
#include <utility>

#include "elf/image.hpp"
#include "elf/machine.hpp"
#include "elf/plan/placement.hpp"
#include "elf/plan/tables.hpp"
#include "elf/preconditions.hpp"
#include "support/text.hpp"

namespace sframe_gen::elf {

namespace {

/// Offsets in SFrame are 32 bits wide.
constexpr std::uint64_t largest_section = UINT32_MAX;

/// The cheapest of the plans that work, and what became of the others.
class Cheapest {
 public:
  Cheapest(const Task& task, std::vector<TriedPlan>* tried) : task_(task), tried_(tried) {}

  /// Whether no plan that costs `cost` and more needs to be looked at.
  bool is_found(const Cost& cost) const { return best_ && tried_ == nullptr && best_cost_ <= cost; }

  void consider(const Plan& plan) {
    auto outcome = place(task_, plan);
    if (const auto* obstacle = std::get_if<Obstacle>(&outcome)) {
      tell(plan, text_of(*obstacle), false);
      // The last plan of a kind permits most, so its obstacle says best what is wrong.
      (plan.table == TablePlan::Below ? below_ : plan.table == TablePlan::Moved ? moved_ : in_place_) = *obstacle;
      return;
    }
    auto& placement = std::get<Placement>(outcome);
    tell(plan, description_of(task_.image, placement), true);
    const Cost cost = cost_of(task_.image, placement);
    if (best_ && best_cost_ <= cost) return;
    best_ = std::move(placement);
    best_cost_ = cost;
    if (tried_ != nullptr) taken_ = tried_->size() - 1;
  }

  Layout layout() const {
    if (!best_) throw Refused(task_.image.name(), why_not());
    if (tried_ != nullptr) (*tried_)[taken_].taken = true;
    return lay_out(task_, *best_);
  }

 private:
  void tell(const Plan& plan, std::string outcome, bool possible) {
    if (tried_ != nullptr) tried_->push_back({name_of(plan, task_.image), std::move(outcome), possible, false});
  }

  static std::string text_of(const Obstacle& obstacle) {
    return (obstacle.in_table ? "no room for more program headers: " : "") + obstacle.why;
  }

  std::string why_not() const {
    const Obstacle in_place = in_place_.value_or(Obstacle{});
    std::string why = text_of(in_place);
    if (below_) why += "; nor can pages be put below it, as " + below_->why;
    if (moved_) why += "; nor can the headers move, as " + moved_->why;
    if (is_dynamic_loader(task_.image))
      why = "is a dynamic loader, to which a segment cannot be added safely, and " + why;
    else if (in_place.in_table && could_move())
      why += " (--move-headers moves them to the end of the file)";
    return why;
  }

  bool could_move() const {
    if (task_.moves != HeaderMoves::Never) return false;
    return std::holds_alternative<Placement>(place(task_, {.section = SectionPlan::Tail, .table = TablePlan::Moved}));
  }

  const Task& task_;
  std::vector<TriedPlan>* tried_;
  std::size_t taken_ = 0;
  std::optional<Placement> best_;
  Cost best_cost_;
  std::optional<Obstacle> in_place_, below_, moved_;
};

}  // namespace

const char* short_name(SectionPlan plan) {
  switch (plan) {
    case SectionPlan::Replace:
      return "replaced";
    case SectionPlan::Gap:
      return "S1";
    case SectionPlan::Tail:
      return "S2";
    case SectionPlan::Head:
      return "S3";
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
    case TablePlan::Below:
      return "T3";
    case TablePlan::Moved:
      return "T4";
  }
  return "";
}

Layout plan_layout(const Image& image, std::uint64_t section_size, const NewSection& section, HeaderMoves moves,
                   std::vector<TriedPlan>* tried) {
  check_preconditions(image);
  if (section_size == 0 || section_size > largest_section)
    throw Refused(image.name(), "a " + std::string(section.name) + " of " + hex(section_size) + " bytes is impossible");
  if (!image.has_section_headers() && !section.segment_type) {
    throw Refused(image.name(),
                  "has no section headers, and no program header could lead to " + std::string(section.name));
  }
  const Movability movability(image);
  const ExistingSframe existing = find_existing_sframe(image, section);
  const FileSpace space(image);
  const LoadGrowth loads(image, section.name);
  const Task task{image, movability, existing, space, loads, section, section_size, moves};
  Cheapest cheapest(task, tried);
  for (const Plan& plan : plans_for(image, existing, moves)) {
    if (cheapest.is_found(least_cost(plan))) break;
    cheapest.consider(plan);
  }
  return cheapest.layout();
}

namespace {

void lay_out_moves(const Task& task, const Placement& placement, Layout& layout) {
  layout.dropped = placement.space.released();
  layout.table_plan = table_plan_of(placement);
  layout.build_id_left_first_page = moves_build_id(task.image, placement);
  const auto dynamic = read_dynamic(task.image);
  for (const Placed& placed : placement.groups) {
    layout.moved.push_back({placed.group.range, placed.offset});
    for (const std::uint32_t index : placed.group.sections) {
      const Section& section = task.image.sections()[index];
      layout.moved_sections.push_back(section.name);
      if (placed.group.plan != TablePlan::DynamicTables) continue;
      const auto tags = tags_of_type(section.header.sh_type);
      for (const DynamicEntry& entry : dynamic) {
        if (entry.value == section.header.sh_addr && std::find(tags.begin(), tags.end(), entry.tag) != tags.end())
          layout.dynamic_patches.push_back({placement.load_map(entry.value_offset), placed.address});
      }
    }
  }
}

void lay_out_segments(const Task& task, const Placement& placement, Layout& layout) {
  SegmentTable table(task.image, placement.loads.segments(), placement.load_map, placement.map);
  for (const Placed& placed : placement.groups) {
    for (const std::size_t index : placed.group.segments) {
      const std::uint64_t within = task.image.segments()[index].p_offset - placed.group.range.begin;
      table.move(index, placed.offset + within, placed.address + within);
    }
  }
  if (placement.plan.table == TablePlan::Below) {
    table.take_in_header();
    table.add_first_load(placement.head.address, placement.head.size, load_alignment(task.image));
  }
  if (placement.plan.section == SectionPlan::Tail)
    table.add_load(placement.tail.offset, placement.tail.address, placement.tail.size, load_alignment(task.image));
  if (placement.plan.table == TablePlan::Moved) {
    layout.header.e_phoff = placement.tail.offset + placement.tail.table;
    table.move_table(layout.header.e_phoff, placement.tail.address + placement.tail.table);
  }
  table.set_section(task.section, placement.section.offset, placement.section.address, task.section_size);
  if (placement.dropped_note) table.drop(*placement.dropped_note);
  layout.segments = table.build(placement.segment_count);
  layout.header.e_phnum = static_cast<std::uint16_t>(layout.segments.size());
}

void lay_out_old_headers(const Task& task, const Placement& placement, Layout& layout) {
  if (placement.plan.table != TablePlan::Below) return;
  OldHeaders old;
  old.header = task.image.header();
  old.offset = placement.head.pages;
  if (const auto load = header_load(task.image)) {
    const Elf64_Phdr& segment = task.image.segments()[*load];
    old.address = segment.p_vaddr;
    old.size = std::min(segment.p_filesz, old_table(task.image).end);
  } else if (const Elf64_Phdr* const shared = load_that_shares_page_of_header(task.image)) {
    old.address = shared->p_vaddr - shared->p_offset;
    old.size = old_table(task.image).end;
  }
  // From the old header to the new table, modulo 2^64.
  if (old.size != 0) old.header.e_phoff = placement.head.address + sizeof(Elf64_Ehdr) - old.address;
  old.header.e_phnum = layout.header.e_phnum;
  layout.old_headers = old;
}

void lay_out_sections(const Task& task, const Placement& placement, Layout& layout) {
  SectionTable table(task.image, placement.load_map, placement.map);
  for (const Placed& placed : placement.groups) {
    for (const std::uint32_t index : placed.group.sections) {
      const std::uint64_t within = task.image.sections()[index].header.sh_offset - placed.group.range.begin;
      table.move(index, placed.offset + within, placed.address + within);
    }
  }
  table.set_section(task.section, task.existing.section, placement.section.offset, placement.section.address,
                    task.section_size);
  if (task.section.keeps_way_back) table.set_undo(task.section, task.existing.undo_section);
  if (layout.old_headers && layout.old_headers->size != 0) table.cover_old_headers(*layout.old_headers);
  table.build(layout);
}

/// Where the contents of the output end, before section names and headers.
std::uint64_t end_of_contents(const Placement& placement, const Layout& layout) {
  std::uint64_t end = placement.map(layout.copied_size - 1) + 1;
  for (const Elf64_Phdr& segment : layout.segments) {
    if (segment.p_type == PT_LOAD) end = std::max<std::uint64_t>(end, segment.p_offset + segment.p_filesz);
  }
  return end;
}

void lay_out_section_table(const Task& task, Layout& layout) {
  Elf64_Shdr& names = layout.sections[layout.header.e_shstrndx].header;
  names.sh_offset = layout.file_size;
  names.sh_size = layout.section_names.size();
  layout.header.e_shoff = align_up(layout.file_size + layout.section_names.size(), 8);
  layout.file_size = layout.header.e_shoff + layout.sections.size() * sizeof(Elf64_Shdr);
  // The record follows the table: nothing but its own header depends on its size.
  if (task.section.keeps_way_back) layout.sections.back().header.sh_offset = layout.file_size;
}

}  // namespace

Layout lay_out(const Task& task, const Placement& placement) {
  Layout layout;
  layout.section = task.section;
  layout.section_address = placement.section.address;
  layout.section_size = task.section_size;
  layout.section_offset = placement.section.offset;
  layout.section_plan = placement.plan.section;
  layout.offset_map = placement.map;
  layout.header = task.image.header();
  lay_out_moves(task, placement, layout);
  lay_out_segments(task, placement, layout);
  lay_out_old_headers(task, placement, layout);
  layout.copied_size = placement.space.end();
  layout.file_size = end_of_contents(placement, layout);
  if (task.image.has_section_headers()) {
    lay_out_sections(task, placement, layout);
    lay_out_section_table(task, layout);
  } else {
    // e_shoff may be stale; the record must not come to stand where it points.
    layout.header.e_shoff = layout.header.e_shnum = 0;
    layout.header.e_shstrndx = SHN_UNDEF;
  }
  const std::uint64_t old_size = task.image.file_bytes().size();
  layout.growth = static_cast<std::int64_t>(layout.file_size) - static_cast<std::int64_t>(old_size);
  return layout;
}

}  // namespace sframe_gen::elf
