#pragma once

#include <cstddef>
#include <span>

#include "unwind/header_view.hpp"

namespace sframe_gen::sframe {

/// Every descriptor and row of a section whose header is sound: what the decoder refuses, this does. Only overlaps of
/// an unsorted index pass, which could not be told without memory.
ViewFault check_section(std::span<const std::byte> bytes, const HeaderView& header);

}  // namespace sframe_gen::sframe
