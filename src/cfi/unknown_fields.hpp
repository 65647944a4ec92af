#pragma once

#include <span>

#include "cfi/frame_table.hpp"
#include "object/relocated_section.hpp"

namespace sframe_gen::cfi {

/// Takes out of an object's table, as unreadable, the FDEs with a relocation of unknown type in their addresses or
/// instructions, or those of their CIE. In augmentation data, of a personality routine or a table of exceptions, it is
/// no row's business. `unknown` is ascending.
void leave_out_unknown_fields(FrameTable& table, std::span<const object::UnknownRelocation> unknown);

}  // namespace sframe_gen::cfi
