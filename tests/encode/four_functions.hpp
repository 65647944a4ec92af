#pragma once

#include "encode/coverage.hpp"

namespace sframe_gen::test {

inline emit::FdeRows descriptor(std::size_t rows, sframe::FdeType type = sframe::FdeType::Default,
                                sframe::PcType pc_type = sframe::PcType::Increment) {
  emit::FdeRows function;
  function.type = type;
  function.pc_type = pc_type;
  function.rows.resize(rows);
  return function;
}

/// Four functions: whole, in part with two reasons, left out, and a PLT.
inline Coverage four_functions() {
  Coverage coverage;
  encode::count(0x20, {{descriptor(3)}, {}}, coverage);
  encode::count(0x40,
                {{descriptor(2, sframe::FdeType::Flexible)},
                 {{0x2010, 0x2014, Unrepresentable::CfaIsExpression},
                  {0x2020, 0x2024, Unrepresentable::CfaIsExpression},
                  {0x2030, 0x2031, Unrepresentable::OffsetTooLarge}}},
                coverage);
  encode::count(0x10, {{}, {{0x3000, 0x3010, Unrepresentable::CfaIsExpression}}}, coverage);
  encode::count(0x100, {{descriptor(2, sframe::FdeType::Default, sframe::PcType::Mask)}, {}}, coverage);
  return coverage;
}

}  // namespace sframe_gen::test
