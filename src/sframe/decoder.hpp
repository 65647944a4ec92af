#pragma once

#include <cstdint>
#include <span>

#include "sframe/section.hpp"
#include "sframe/strictness.hpp"
#include "support/error.hpp"

namespace sframe_gen::sframe {

/// Decodes a .sframe section of version 3, of either byte order. Trusts nothing: what contradicts the format or itself
/// throws MalformedInput, naming the place; a sound section of a version or ABI not supported yet throws Refused.
/// Time is linear in bytes and rows, n log n in the functions of an unsorted index; time and memory are bounded by the
/// section's size, whatever the counts in it claim.
///
/// `section_address` is the section's virtual address: function starts are stored relative to it.
Section decode(std::span<const std::byte> bytes, std::uint64_t section_address, const Origin& origin,
               Strictness strictness = {});

}  // namespace sframe_gen::sframe
