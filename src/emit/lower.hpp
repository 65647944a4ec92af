#pragma once

#include <optional>
#include <variant>

#include "cfi/rules.hpp"
#include "emit/dialect.hpp"
#include "sframe_gen/coverage.hpp"
#include "sframe_gen/section.hpp"

namespace sframe_gen::emit {

/// Why a default descriptor cannot hold the row (sections 3.1.1 to 3.1.3; the shorter repertoire of older versions).
/// No value: it can.
std::optional<Unrepresentable> obstacle_to_default(const sframe::RecoveryRules& recovery, const Dialect& dialect);

/// RA undefined: the outermost frame.
struct Outermost {
  friend bool operator==(const Outermost&, const Outermost&) = default;
};

/// What SFrame says of one row of the unwind table, or why it cannot.
using Lowered = std::variant<sframe::RecoveryRules, Outermost, cfi::PltStub, Unrepresentable>;

/// SFrame V3, chapter 3. A PltStub comes back as it is: it takes rows of its own. Whether a function is a signal frame
/// or signs with key B is not the row's concern.
Lowered lower(const cfi::Rules& rules, const Dialect& dialect);

}  // namespace sframe_gen::emit
