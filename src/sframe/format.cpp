#include "sframe/format.hpp"

#include <algorithm>
#include <array>
#include <cassert>

namespace sframe_gen::sframe {
namespace {

constexpr std::array all{aarch64_big_traits, aarch64_traits, amd64_traits, s390x_traits};

}  // namespace

const AbiTraits* find_abi(std::uint8_t identifier) {
  for (const AbiTraits& candidate : all) {
    if (static_cast<std::uint8_t>(candidate.abi) == identifier) return &candidate;
  }
  return nullptr;
}

const AbiTraits& traits_of(Abi abi) {
  const AbiTraits* traits = find_abi(static_cast<std::uint8_t>(abi));
  assert(traits != nullptr);
  return *traits;
}

std::string_view name_of(Abi abi) {
  switch (abi) {
    case Abi::Aarch64Big:
      return "AArch64 (big-endian)";
    case Abi::Aarch64Little:
      return "AArch64";
    case Abi::Amd64:
      return "AMD64";
    case Abi::S390x:
      return "s390x";
  }
  return {};
}

bool is_machine_register(Abi abi, std::uint32_t number) {
  switch (abi) {
    case Abi::Amd64:
      // 16 is the return address column, which stands for rip by convention only.
      return number != amd64_traits.return_address && number < register_number_limit;
    case Abi::Aarch64Big:
    case Abi::Aarch64Little:
      // x0 to x30 and sp, v0 to v31; between them pc, ELR_mode, RA_SIGN_STATE, TPIDRRO, VG, FFR, predicates.
      return number <= 31 || (number >= 64 && number <= 95);
    case Abi::S390x:
      // General, floating-point, control and access registers, vector registers; 64 and 65 are the PSW.
      return number <= 63 || (number >= 68 && number <= 83);
  }
  return false;
}

const VersionTraits* find_version(std::uint8_t number) {
  const auto found = std::ranges::find_if(detail::version_table, [&](const VersionTraits& traits) {
    return traits.version != Version::CtfFrame && traits.number == number;
  });
  return found == detail::version_table.end() ? nullptr : &*found;
}

std::string_view name_of(Version version) {
  return traits_of(version).name;
}

}  // namespace sframe_gen::sframe
