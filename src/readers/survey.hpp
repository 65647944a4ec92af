#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "elf/image.hpp"
#include "readers/fact.hpp"
#include "sframe/format.hpp"

namespace sframe_gen::readers {

/// Where code is that a section speaks of.
struct CodePlace {
  std::uint64_t start;  ///< address
  std::uint32_t size;   ///< bytes
  std::uint64_t field;  ///< offset in the section of what holds the start
  std::uint8_t field_size;
};

/// What is found in a section, damaged or not, by a walk through it that stops nowhere before it must. Time and memory
/// are bounded by the section's size, whatever the counts in it claim. `address`: the section's; `abi`: the file's.
/// Returns its functions; no value where they cannot be found.
std::optional<std::vector<CodePlace>> survey_section(std::span<const std::byte> bytes, std::uint64_t address,
                                                     const sframe::AbiTraits& abi, bool is_object, Findings& findings);

/// Returns the number from 0 of a program header other than PT_LOAD that is executable and in code whose PT_LOAD
/// follows it; no value if there is none. Old GNU ld makes PT_PHDR executable. Linux registers such a header's range
/// first, and then refuses the code.
std::optional<std::size_t> executable_header(const elf::Image& image);

/// Returns the number from 0 of an executable PT_LOAD with memory after the pages of its bytes in the file, such as
/// .bss of `ld -N`; no value if there is none. The memory after them is another mapping, and Linux registers .sframe
/// for a segment that is in one mapping only.
std::optional<std::size_t> code_with_bss(const elf::Image& image);

/// What is found in the .sframe section `section` of a file, and around it. Throws Refused for a machine that SFrame
/// has no ABI for; whatever is wrong with the section itself is a finding.
Findings survey_file(const elf::Image& image, const elf::Section& section);

}  // namespace sframe_gen::readers
