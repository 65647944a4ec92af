#pragma once

#include <cstddef>

#include "cfi/frame_table.hpp"

namespace sframe_gen::verify {

/// What libdwarf is known to read wrongly in this FDE or its CIE, as a clause; null: nothing. Where it disagrees with a
/// row of such an FDE, the row is not wrong but unchecked. Throws MalformedInput.
///
/// libdwarf 20210528 and 0.11: DW_CFA_val_offset_sf becomes "same value", and the operand of DW_CFA_set_loc is taken
/// for an address, whatever the CIE says of pointers.
const char* misread_by_libdwarf(const cfi::FrameTable& table, std::size_t fde_index);

}  // namespace sframe_gen::verify
