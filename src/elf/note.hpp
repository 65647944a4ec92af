#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "sframe_gen/error.hpp"
#include "support/endian.hpp"

namespace sframe_gen::elf {

/// One entry of an SHT_NOTE section (gABI, chapter 5, "Note Section").
struct Note {
  std::uint32_t type;
  std::string owner;  ///< without the terminating zero
  std::span<const std::byte> descriptor;
};

/// `alignment` is the section's: 8 pads name and descriptor to 8 bytes, everything else to 4. Throws MalformedInput.
std::vector<Note> read_notes(std::span<const std::byte> bytes, std::uint64_t alignment, Endian endian,
                             const Origin& origin);

}  // namespace sframe_gen::elf
