#include "sframe/abi.hpp"

#include <array>
#include <cassert>

namespace sframe_gen::sframe {
namespace {

constexpr std::array identifiers{
    AbiIdentifier{Abi::Aarch64Big, "AArch64 (big-endian)", nullptr},
    AbiIdentifier{Abi::Aarch64Little, "AArch64 (little-endian)", nullptr},
    AbiIdentifier{Abi::Amd64, "AMD64", &amd64_traits},
    AbiIdentifier{Abi::S390x, "s390x", nullptr},
};

}  // namespace

const AbiIdentifier* find_abi(std::uint8_t identifier) {
  for (const AbiIdentifier& candidate : identifiers) {
    if (static_cast<std::uint8_t>(candidate.abi) == identifier) return &candidate;
  }
  return nullptr;
}

const AbiTraits& traits_of(Abi abi) {
  const AbiIdentifier* identifier = find_abi(static_cast<std::uint8_t>(abi));
  assert(identifier != nullptr && identifier->traits != nullptr);
  return *identifier->traits;
}

}  // namespace sframe_gen::sframe
