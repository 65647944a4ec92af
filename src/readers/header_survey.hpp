#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "readers/fact.hpp"
#include "readers/fields.hpp"
#include "sframe/abi.hpp"
#include "sframe/version.hpp"

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

}  // namespace sframe_gen::readers
