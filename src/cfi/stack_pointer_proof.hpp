#pragma once

#include <vector>

#include "cfi/dwarf_register.hpp"
#include "cfi/numbered_frames.hpp"

namespace sframe_gen::cfi {

/// On s390x functions keep their caller's SP in a floating-point register or in a slot of their own, and SFrame takes
/// it to be CFA - 160. While a frame lives, its CFA and its caller's registers do not change. So one row with the CFA
/// of a function's entry, SP + 160, and SP unchanged proves SP = CFA - 160 for all rows of the FDE: rules for SP that
/// name a register or a slot are dropped then.
///
/// Proves nothing where the CFA is ever counted from anything but SP and FP, as in code that switches stacks. Not for
/// signal frames, nor for a part split off (.cold), which has no such row.
void drop_proven_stack_pointers(std::vector<NumberedRow>& rows, NumberedRules& rules, const TrackedRegisters& tracked);

}  // namespace sframe_gen::cfi
