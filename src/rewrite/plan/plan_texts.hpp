#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>

#include "sframe_gen/layout_plans.hpp"

/// What people are told of plans.
namespace sframe_gen::rewrite {

struct PlanText {
  std::string_view name;     ///< "S1"
  std::string_view result;   ///< of a file that was converted
  std::string_view outcome;  ///< of a plan that was tried: a clause; empty if the name says it
};

/// Texts in the order of SectionPlan.
inline constexpr std::array section_plan_texts{
    PlanText{"replaced", "section over the one before", "the section replaces the one that is there"},
    PlanText{"S1", "section in a gap after a segment", "the section goes into the gap after a segment"},
    PlanText{"S3", "section in a new segment below", "the section goes into a segment below all others"},
    PlanText{"S2", "section in a new segment above", "the section goes into a segment above all others"},
    PlanText{"filled", "section in reserved space", "fills what the linker script reserved"},
};

/// Texts in the order of TablePlan.
inline constexpr std::array table_plan_texts{
    PlanText{"T0", "headers in free space", ""},
    PlanText{"T1", "headers in the place of notes", ""},
    PlanText{"T2", "headers in the place of dynamic tables", ""},
    PlanText{"T3", "headers in new pages below", ""},
    PlanText{"T4", "headers at the end", "the program headers follow it"},
};

constexpr const PlanText& text_of(SectionPlan plan) {
  return section_plan_texts[static_cast<std::size_t>(plan)];
}

constexpr const PlanText& text_of(TablePlan plan) {
  return table_plan_texts[static_cast<std::size_t>(plan)];
}

static_assert(text_of(SectionPlan::Replace).name == "replaced" && text_of(SectionPlan::Gap).name == "S1" &&
              text_of(SectionPlan::Tail).name == "S2" && text_of(SectionPlan::Head).name == "S3" &&
              text_of(SectionPlan::Reserved).name == "filled" && text_of(TablePlan::Free).name == "T0" &&
              text_of(TablePlan::Notes).name == "T1" && text_of(TablePlan::DynamicTables).name == "T2" &&
              text_of(TablePlan::Below).name == "T3" && text_of(TablePlan::Moved).name == "T4");

/// Returns what is said of a plan that does not work. `in_table`: for want of room for program headers.
inline std::string text_of_failure(bool in_table, const std::string& why) {
  return (in_table ? "no room for more program headers: " : "") + why;
}

}  // namespace sframe_gen::rewrite
