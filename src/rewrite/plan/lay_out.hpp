#pragma once

#include "rewrite/plan/layout.hpp"
#include "rewrite/plan/placement.hpp"

namespace sframe_gen::rewrite {

/// Lays the output out as `placement` has it.
Layout lay_out(const Task& task, const Placement& placement);

}  // namespace sframe_gen::rewrite
