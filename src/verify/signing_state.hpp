#pragma once

#include <cstdint>
#include <optional>

#include "cfi/frame_table.hpp"

namespace sframe_gen::verify {

/// Whether the return address is signed at `pc` of FDE `fde_index` (DWARF for the Arm 64-bit Architecture, section
/// 4.1): libdwarf passes over DW_CFA_AARCH64_negate_ra_state, so this counts them. No value: signed with the PC, or a
/// rule other than the opcode's says it. Throws MalformedInput.
std::optional<bool> signed_at(const cfi::FrameTable& table, std::size_t fde_index, std::uint64_t pc);

}  // namespace sframe_gen::verify
