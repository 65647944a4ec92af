#pragma once

#include <cstdint>

#include "readers/fact.hpp"
#include "readers/header_survey.hpp"
#include "sframe/format.hpp"

namespace sframe_gen::readers {

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

}  // namespace sframe_gen::readers
