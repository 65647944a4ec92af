#pragma once

#include <cstdint>

#include "sframe/format.hpp"

/// The ABIs' facts without a call into another library: what walks stacks links to nothing.
namespace sframe_gen::sframe {

/// Null for a byte that no version's ABI has.
constexpr const AbiTraits* facts_of(std::uint8_t identifier) {
  switch (identifier) {
    case static_cast<std::uint8_t>(Abi::Aarch64Big):
      return &aarch64_big_traits;
    case static_cast<std::uint8_t>(Abi::Aarch64Little):
      return &aarch64_traits;
    case static_cast<std::uint8_t>(Abi::Amd64):
      return &amd64_traits;
    case static_cast<std::uint8_t>(Abi::S390x):
      return &s390x_traits;
    default:
      return nullptr;
  }
}

}  // namespace sframe_gen::sframe
