#pragma once

#include <cstdint>
#include <span>

#include "sframe/section.hpp"
#include "sframe/strictness.hpp"
#include "support/error.hpp"

namespace sframe_gen::sframe {

/// Which line of formats a section belongs to: its bytes do not tell CTF Frame from SFrame version 1, its name does.
enum class Family : std::uint8_t { SFrame, CtfFrame };

/// Decodes a section of any version and either byte order. Trusts nothing: what contradicts the format or itself
/// throws MalformedInput, naming the place; a version that is not known throws Refused.
/// Time is linear in bytes and rows, n log n in the functions of an unsorted index; time and memory are bounded by the
/// section's size, whatever the counts in it claim.
///
/// `section_address` is the section's virtual address: function starts are stored relative to it or to their own.
Section decode(std::span<const std::byte> bytes, std::uint64_t section_address, const Origin& origin,
               Strictness strictness = {}, Family family = Family::SFrame);

}  // namespace sframe_gen::sframe
