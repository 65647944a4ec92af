#pragma once

#include <cstdint>
#include <optional>

#include "sframe/abi.hpp"

/// A row stores the CFA's offset in units of the ABI (SFrame V3, section 3.1.3: s390x takes 160 off and counts in
/// eights); elsewhere it is stored as it is.
namespace sframe_gen::sframe {

constexpr std::int64_t cfa_offset_of_word(std::int64_t word, const AbiTraits& abi) {
  return word * abi.cfa_offset_unit + abi.cfa_offset_bias;
}

/// No value: no word says that offset. `cfa_offset` fits in 32 bits.
constexpr std::optional<std::int32_t> word_of_cfa_offset(std::int64_t cfa_offset, const AbiTraits& abi) {
  const std::int64_t counted = cfa_offset - abi.cfa_offset_bias;
  // A division takes longer than all else that is done to a row.
  if (abi.cfa_offset_unit == 1) return static_cast<std::int32_t>(counted);
  if (counted % abi.cfa_offset_unit != 0) return std::nullopt;
  return static_cast<std::int32_t>(counted / abi.cfa_offset_unit);
}

}  // namespace sframe_gen::sframe
