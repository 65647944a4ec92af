#include "elf/plan/layout.hpp"

#include <utility>

#include "elf/plan/placement.hpp"
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
      tell(plan, obstacle->in_table ? "no room for more program headers: " + obstacle->why : obstacle->why, false);
      // The most permissive plan's obstacle says best what is wrong.
      if (plan.table == TablePlan::Below)
        below_ = *obstacle;
      else if (plan.table == TablePlan::Moved)
        moved_ = *obstacle;
      else
        obstacle_ = *obstacle;
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

  std::string why_not() const {
    std::string why = obstacle_.why;
    if (obstacle_.in_table) why = "no room for more program headers: " + why;
    if (below_) why += "; nor can pages be put below it, as " + below_->why;
    if (moved_) why += "; nor can the headers move, as " + moved_->why;
    if (is_dynamic_loader(task_.image))
      why = "is a dynamic loader, to which a segment cannot be added safely, and " + why;
    else if (obstacle_.in_table && could_move())
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
  Obstacle obstacle_;
  std::optional<Obstacle> below_, moved_;
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

}  // namespace sframe_gen::elf
