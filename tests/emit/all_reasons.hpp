#pragma once

#include <cstdint>
#include <vector>

#include "sframe_gen/coverage.hpp"

namespace sframe_gen::test {

/// Returns every reason that has a key.
inline std::vector<Unrepresentable> all_reasons() {
  std::vector<Unrepresentable> reasons;
  for (std::uint8_t number = 0; key_of(static_cast<Unrepresentable>(number)) != "unknown"; ++number)
    reasons.push_back(static_cast<Unrepresentable>(number));
  return reasons;
}

}  // namespace sframe_gen::test
