#include "rewrite/plan/choose.hpp"

#include <utility>
#include <variant>

#include "elf/notes.hpp"
#include "elf/preconditions.hpp"
#include "rewrite/plan/lay_out.hpp"
#include "rewrite/plan/place.hpp"
#include "rewrite/plan/plan_texts.hpp"
#include "support/text.hpp"

namespace sframe_gen::rewrite {

namespace {

/// Offsets in SFrame are 32 bits wide.
constexpr std::uint64_t largest_section = UINT32_MAX;

/// The cheapest of the plans that work, and what became of the others.
class Cheapest {
 public:
  Cheapest(const Task& task, std::vector<TriedPlan>* tried) : task_(task), tried_(tried) {}

  /// Whether no plan that costs `cost` and more needs to be looked at.
  bool is_found(const Cost& cost) const { return best_ && tried_ == nullptr && best_cost_ <= cost; }

  void consider(const LayoutPlan& plan) {
    auto outcome = place(task_, plan);
    if (const auto* failure = std::get_if<PlanFailure>(&outcome)) {
      tell(plan, [&](TriedPlan& tried) {
        tried.lacks_room_for_headers = failure->in_table;
        tried.obstacle = failure->why;
      });
      // The last plan of a kind permits most, so its failure says best what is wrong.
      (plan.table == TablePlan::Below ? below_ : plan.table == TablePlan::Moved ? moved_ : in_place_) = *failure;
      return;
    }
    auto& placement = std::get<Placement>(outcome);
    tell(plan, [&](TriedPlan& tried) { describe(task_, placement, tried); });
    const Cost cost = cost_of(task_, placement);
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
  template <typename Fill>
  void tell(const LayoutPlan& plan, const Fill& fill) {
    if (tried_ == nullptr) return;
    TriedPlan& tried = tried_->emplace_back();
    tried.section_plan = plan.section;
    tried.table_plan = plan.table;
    if (plan.section == SectionPlan::Gap) tried.gap_after = task_.image.segments()[plan.load].p_vaddr;
    tried.drops_note = plan.drops_note;
    fill(tried);
  }

  static std::string text_of(const PlanFailure& failure) { return text_of_failure(failure.in_table, failure.why); }

  std::string why_not() const {
    const PlanFailure in_place = in_place_.value_or(PlanFailure{});
    std::string why = text_of(in_place);
    if (below_) why += "; nor can pages be put below it, as " + below_->why;
    if (moved_) why += "; nor can the headers move, as " + moved_->why;
    if (elf::is_dynamic_loader(task_.image))
      why = "dynamic loader, to which no segment can be added safely, and " + why;
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
  std::optional<PlanFailure> in_place_, below_, moved_;
};

}  // namespace

Layout plan_layout(const elf::Image& image, std::uint64_t section_size, const elf::NewSection& section,
                   HeaderMoves moves, std::vector<TriedPlan>* tried) {
  elf::check_preconditions(image);
  if (section_size == 0 || section_size > largest_section)
    throw Refused(image.name(),
                  "a " + std::string(section.name) + " of " + count_of(section_size, "byte") + " is impossible");
  if (!image.has_section_headers() && !section.segment_type) {
    throw Refused(image.name(), "no section headers, and no program header could lead to " + std::string(section.name));
  }
  const Movability movability(image);
  const ExistingSframe existing = find_existing_sframe(image, section);
  const FileSpace space(image);
  const LoadGrowth loads(image, section.name);
  const auto build_id = elf::build_id_in_first_page(image);
  const Task task{image, movability, existing, space, loads, build_id, section, section_size, moves};
  Cheapest cheapest(task, tried);
  for (const LayoutPlan& plan : plans_for(image, existing, moves)) {
    if (cheapest.is_found(least_cost(plan))) break;
    cheapest.consider(plan);
  }
  return cheapest.layout();
}

}  // namespace sframe_gen::rewrite
