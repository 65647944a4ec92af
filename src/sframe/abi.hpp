#pragma once

#include <cstdint>
#include <string_view>

#include "sframe/format.hpp"
#include "support/endian.hpp"

/// What each ABI fixes about its frames. To support another ABI: give it traits here, an arm in whatever the traits
/// cannot say (s390x scales its CFA offsets), and tests.
namespace sframe_gen::sframe {

/// What the ABI fixes (sections 2.2.1, 3.1): numbers are DWARF register numbers of the psABI.
struct AbiTraits {
  Abi abi = Abi::Amd64;
  Endian endian = Endian::Little;
  std::uint32_t stack_pointer = 0;
  std::uint32_t frame_pointer = 0;
  std::int8_t fixed_ra_offset = 0;     ///< RA = *(CFA + this) where a row has no RA rule; 0: there is no such place
  bool tracks_return_address = false;  ///< a default row's second word is the RA's offset, the FP's is its third
  bool signs_return_address = false;   ///< has pointer authentication: the mangled bit and the B key mean something
};

/// System V ABI, AMD64 Architecture Processor Supplement, figure 3.36: rsp 7, rbp 6.
inline constexpr AbiTraits amd64_traits{Abi::Amd64, Endian::Little, 7, 6, -8};

/// An ABI/arch identifier the format defines.
struct AbiIdentifier {
  Abi abi;
  std::string_view name;
  const AbiTraits* traits;  ///< null: not supported yet
};

/// Null for a byte that no version 3 ABI has.
const AbiIdentifier* find_abi(std::uint8_t identifier);

/// `abi` must be a supported one, as it is in every decoded section.
const AbiTraits& traits_of(Abi abi);

}  // namespace sframe_gen::sframe
