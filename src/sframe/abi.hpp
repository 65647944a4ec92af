#pragma once

#include <cstdint>

#include "sframe/format.hpp"
#include "support/dwarf_registers.hpp"
#include "support/endian.hpp"

/// What each ABI fixes about its frames. To support another ABI: give it traits here, and an arm in whatever the traits
/// cannot say.
namespace sframe_gen::sframe {

/// What the ABI fixes (sections 2.2.1, 3.1).
struct AbiTraits {
  Abi abi = Abi::Amd64;
  Endian endian = Endian::Little;
  std::uint32_t stack_pointer = 0;  ///< DWARF register number, as those that follow
  std::uint32_t frame_pointer = 0;
  std::uint32_t return_address = 0;  ///< the column a CIE returns by
  /// RA = *(CFA + this) where a row has no RA rule. 0: there is no such place, the RA is then still in its register.
  std::int8_t fixed_ra_offset = 0;
  /// A default row's words are CFA, RA, FP instead of CFA, FP.
  bool tracks_return_address = false;
  bool signs_return_address = false;    ///< has pointer authentication: the mangled bit and the B key mean something
  bool pads_return_address = false;     ///< RA offset 0 in a default row: not saved, a place kept for the FP's (3.1.3)
  std::int32_t stack_pointer_bias = 0;  ///< the caller's SP = CFA + this
  std::int32_t stack_pointer_slot = 0;  ///< the caller's SP is also in memory at CFA + this; 0: nowhere
  std::int32_t cfa_offset_bias = 0;     ///< a row stores (CFA offset - this) / cfa_offset_unit
  std::int32_t cfa_offset_unit = 1;
};

inline constexpr AbiTraits amd64_traits{.abi = Abi::Amd64,
                                        .stack_pointer = amd64_registers.stack_pointer,
                                        .frame_pointer = amd64_registers.frame_pointer,
                                        .return_address = amd64_registers.return_address,
                                        .fixed_ra_offset = -8};

inline constexpr AbiTraits aarch64_traits{.abi = Abi::Aarch64Little,
                                          .stack_pointer = aarch64_registers.stack_pointer,
                                          .frame_pointer = aarch64_registers.frame_pointer,
                                          .return_address = aarch64_registers.return_address,
                                          .tracks_return_address = true,
                                          .signs_return_address = true};

inline constexpr AbiTraits aarch64_big_traits = [] {
  AbiTraits traits = aarch64_traits;
  traits.abi = Abi::Aarch64Big;
  traits.endian = Endian::Big;
  return traits;
}();

/// ELF Application Binary Interface, s390x Supplement, section 1.2.2 (stack frames): the CFA is the caller's r15 + 160;
/// its register save area has r15 at byte 120.
inline constexpr AbiTraits s390x_traits{.abi = Abi::S390x,
                                        .endian = Endian::Big,
                                        .stack_pointer = s390x_registers.stack_pointer,
                                        .frame_pointer = s390x_registers.frame_pointer,
                                        .return_address = s390x_registers.return_address,
                                        .tracks_return_address = true,
                                        .pads_return_address = true,
                                        .stack_pointer_bias = -160,
                                        .stack_pointer_slot = -40,
                                        .cfa_offset_bias = 160,
                                        .cfa_offset_unit = 8};

/// Null for a byte that no version's ABI has.
const AbiTraits* find_abi(std::uint8_t identifier);

const AbiTraits& traits_of(Abi abi);

/// Whether `number` is a register that a reader can know the value of, not a column that only DWARF has: the PC, the
/// state of signing.
bool is_machine_register(Abi abi, std::uint32_t number);

}  // namespace sframe_gen::sframe
