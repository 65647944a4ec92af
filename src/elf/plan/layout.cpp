#include "elf/plan/layout.hpp"

#include "elf/plan/attempt.hpp"
#include "elf/plan/draft.hpp"
#include "elf/preconditions.hpp"
#include "support/text.hpp"

namespace sframe_gen::elf {

namespace {

/// Offsets in SFrame are 32 bits wide.
constexpr std::uint64_t largest_section = UINT32_MAX;

/// The cheapest of the plans that work, and what became of the others.
class Choice {
 public:
  Choice(const Image& image, std::vector<Trial>* trials) : image_(image), trials_(trials) {}

  /// Whether no attempt that costs `cost` and more needs to be looked at.
  bool is_settled(const Cost& cost) const { return best_ && trials_ == nullptr && best_->cost() <= cost; }

  void consider(const Attempt& attempt, Draft draft) {
    const auto obstacle = draft.work_out();
    if (obstacle) {
      tell(attempt, obstacle->in_table ? "no room for more program headers: " + obstacle->why : obstacle->why, false);
      // The most permissive plan's obstacle says best what is wrong.
      if (attempt.table == TablePlan::Below)
        below_ = obstacle;
      else
        obstacle_ = *obstacle;
      return;
    }
    tell(attempt, draft.description(), true);
    if (best_ && best_->cost() <= draft.cost()) return;
    best_ = std::move(draft);
    if (trials_ != nullptr) taken_ = trials_->size() - 1;
  }

  Layout layout() const {
    if (!best_) throw Refused(image_.name(), why_not());
    if (trials_ != nullptr) (*trials_)[taken_].taken = true;
    return best_->layout();
  }

 private:
  void tell(const Attempt& attempt, std::string outcome, bool possible) {
    if (trials_ != nullptr) trials_->push_back({name_of(attempt, image_), std::move(outcome), possible, false});
  }

  std::string why_not() const {
    std::string why = obstacle_.why;
    if (obstacle_.in_table) why = "no room for more program headers: " + why;
    if (below_) why += "; nor can pages be put below it, as " + below_->why;
    if (is_dynamic_loader(image_)) why = "is a dynamic loader, to which a segment cannot be added safely, and " + why;
    return why;
  }

  const Image& image_;
  std::vector<Trial>* trials_;
  std::size_t taken_ = 0;
  std::optional<Draft> best_;
  Obstacle obstacle_;
  std::optional<Obstacle> below_;
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
  }
  return "";
}

Layout plan_layout(const Image& image, std::uint64_t section_size, const NewSection& section,
                   std::vector<Trial>* trials) {
  check_preconditions(image);
  if (section_size == 0 || section_size > largest_section)
    throw Refused(image.name(), "a " + std::string(section.name) + " of " + hex(section_size) + " bytes is impossible");
  if (!image.has_section_headers() && !section.segment_type) {
    throw Refused(image.name(),
                  "has no section headers, and no program header could lead to " + std::string(section.name));
  }
  const Movability movability(image);
  const ExistingSframe existing = find_existing_sframe(image, section);
  Choice choice(image, trials);
  for (const Attempt& attempt : attempts_for(image, existing)) {
    if (choice.is_settled(least_cost(attempt))) break;
    choice.consider(attempt, Draft(image, movability, existing, attempt, section, section_size));
  }
  return choice.layout();
}

}  // namespace sframe_gen::elf
