#pragma once

#include <variant>

#include "rewrite/plan/placement.hpp"

namespace sframe_gen::rewrite {

/// Puts everything where `plan` says.
std::variant<Placement, PlanFailure> place(const Task& task, const LayoutPlan& plan);

}  // namespace sframe_gen::rewrite
