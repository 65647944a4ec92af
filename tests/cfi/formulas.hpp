#pragma once

#include <cstdint>

#include "cfi/rules.hpp"

/// Rules as a person writes them: offset(N), val_offset(N), register or breg with an offset, and what is stored there.
namespace sframe_gen::test {

inline cfi::Formula at_cfa(std::int64_t offset) {
  return {std::nullopt, offset, true};
}
inline cfi::Formula cfa_plus(std::int64_t offset) {
  return {std::nullopt, offset, false};
}
inline cfi::Formula reg(std::uint32_t number, std::int64_t offset) {
  return {cfi::DwarfRegister{number}, offset, false};
}
inline cfi::Formula at_reg(std::uint32_t number, std::int64_t offset) {
  return {cfi::DwarfRegister{number}, offset, true};
}

}  // namespace sframe_gen::test
