#pragma once

#include <cstdint>
#include <optional>
#include <variant>

#include "cfi/rules.hpp"
#include "emit/dialect.hpp"
#include "sframe_gen/reasons.hpp"
#include "sframe_gen/section.hpp"

namespace sframe_gen::emit {

/// Why a default descriptor cannot hold the row (sections 3.1.1 to 3.1.3; the shorter repertoire of older versions).
/// No value: it can.
std::optional<Unrepresentable> why_not_default(const sframe::RecoveryRules& recovery, const Dialect& dialect);

/// RA undefined: the outermost frame.
struct Outermost {
  friend bool operator==(const Outermost&, const Outermost&) = default;
};

/// What SFrame has for cfi::PltStub: rows of each entry, up to the push and from there on.
struct PltEntries {
  sframe::RecoveryRules before, after;
  std::uint8_t threshold = 0;  ///< bytes from the start of an entry
  friend bool operator==(const PltEntries&, const PltEntries&) = default;
};

/// What SFrame has for the rules of one row of the unwind table, or why it has nothing.
using Representation = std::variant<sframe::RecoveryRules, Outermost, PltEntries, Unrepresentable>;

/// Represents rules (SFrame V3, chapter 3). Whether a function is a signal frame or signs with the B key is not the
/// row's concern.
Representation represent(const cfi::Rules& rules, const Dialect& dialect);

}  // namespace sframe_gen::emit
