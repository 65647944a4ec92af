#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "elf/image.hpp"
#include "readers/fact.hpp"
#include "sframe/format.hpp"

namespace sframe_gen::readers {

/// A header whose function index lies in the section: what is behind it can be looked at.
struct SurveyedHeader {
  Fields fields;
  const sframe::VersionTraits* version = nullptr;
  const sframe::AbiTraits* abi = nullptr;  ///< the file's, where the header names none
  std::uint8_t flags = 0;
  std::uint32_t function_count = 0;
  std::uint32_t row_count = 0;
  std::uint64_t index = 0;  ///< offsets in the section
  std::uint64_t rows = 0;
  std::uint64_t rows_end = 0;  ///< at most the section's
};

/// `abi`: the file's. No value: there is nothing behind it that could be found.
std::optional<SurveyedHeader> survey_header(std::span<const std::byte> bytes, const sframe::AbiTraits& abi,
                                            Findings& findings);

/// A descriptor as its bytes say it.
struct SurveyedFunction {
  std::uint32_t number;  ///< from 0
  std::uint64_t start;   ///< address
  std::uint32_t size;    ///< bytes
  std::uint32_t row_count;
  std::uint64_t begin;   ///< offset in the section of its rows, of the attribute in front of them if there is one
  std::uint64_t rows;    ///< and of its first row
  unsigned start_width;  ///< bytes of a row's start
  sframe::PcType pc_type;
  sframe::FdeType type;
  std::uint8_t repeat_size;
};

/// Looks at its rows. Returns the offset in the section of their end; 0 where they cannot be followed to it.
std::uint64_t survey_rows(const SurveyedHeader& header, const SurveyedFunction& function, Findings& findings);

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

/// What is found in the .sframe section `section` of a file, and around it. Throws Refused for a machine that SFrame
/// has no ABI for; whatever is wrong with the section itself is a finding.
Findings survey_file(const elf::Image& image, const elf::Section& section);

}  // namespace sframe_gen::readers
