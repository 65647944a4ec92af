#pragma once

#include <optional>
#include <variant>

#include "cfi/frame_row.hpp"
#include "emit/unrepresentable.hpp"
#include "sframe/section.hpp"

namespace sframe_gen::emit {

/// RA undefined: the outermost frame.
struct Outermost {
  friend bool operator==(const Outermost&, const Outermost&) = default;
};

/// What SFrame V3 says of one row of the unwind table, or why it cannot.
using Lowered = std::variant<sframe::Recovery, Outermost, cfi::PltStub, Unrepresentable>;

/// AMD64: SP 7, FP 6, RA at *(CFA - 8) unless a rule says otherwise (SFrame V3, sections 3.1.1 and 3.2; psABI,
/// figure 3.36). A PltStub comes back as it is: it takes a descriptor of its own.
Lowered lower_amd64(const cfi::Rules& rules);

/// Whether a default descriptor can hold it: CFA = SP/FP + offset, RA at its fixed place, FP on the stack.
bool fits_default_descriptor(const sframe::Recovery& recovery);

}  // namespace sframe_gen::emit
