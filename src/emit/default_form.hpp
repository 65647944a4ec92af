#pragma once

#include <optional>

#include "emit/dialect.hpp"
#include "sframe_gen/coverage.hpp"
#include "sframe_gen/section.hpp"

namespace sframe_gen::emit {

/// Why a default descriptor cannot hold the row (sections 3.1.1 to 3.1.3; the shorter repertoire of older versions).
/// No value: it can.
std::optional<Unrepresentable> obstacle_to_default(const sframe::RecoveryRules& recovery, const Dialect& dialect);

}  // namespace sframe_gen::emit
