#pragma once

#include <cstdint>
#include <string_view>

#include "sframe/format.hpp"
#include "support/endian.hpp"

/// What each ABI fixes about its frames. To support another ABI: give it traits here, and an arm in whatever the traits
/// cannot say.
namespace sframe_gen::sframe {

/// What the ABI fixes (sections 2.2.1, 3.1): numbers are DWARF register numbers of the psABI.
struct AbiTraits {
  Abi abi = Abi::Amd64;
  Endian endian = Endian::Little;
  std::uint32_t stack_pointer = 0;
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

/// System V ABI, AMD64 Architecture Processor Supplement, figure 3.36: rsp 7, rbp 6.
inline constexpr AbiTraits amd64_traits{
    .abi = Abi::Amd64, .stack_pointer = 7, .frame_pointer = 6, .return_address = 16, .fixed_ra_offset = -8};

/// DWARF for the Arm 64-bit Architecture, table 1: sp 31, x29 29, x30 30.
inline constexpr AbiTraits aarch64_traits{.abi = Abi::Aarch64Little,
                                          .stack_pointer = 31,
                                          .frame_pointer = 29,
                                          .return_address = 30,
                                          .tracks_return_address = true,
                                          .signs_return_address = true};

inline constexpr AbiTraits aarch64_big_traits = [] {
  AbiTraits traits = aarch64_traits;
  traits.abi = Abi::Aarch64Big;
  traits.endian = Endian::Big;
  return traits;
}();

/// ELF Application Binary Interface, s390x Supplement, table 1.7 (DWARF registers) and section 1.2.2 (stack frames):
/// r15 15, r11 11, r14 14; the CFA is the caller's r15 + 160; its register save area has r15 at byte 120.
inline constexpr AbiTraits s390x_traits{.abi = Abi::S390x,
                                        .endian = Endian::Big,
                                        .stack_pointer = 15,
                                        .frame_pointer = 11,
                                        .return_address = 14,
                                        .tracks_return_address = true,
                                        .pads_return_address = true,
                                        .stack_pointer_bias = -160,
                                        .stack_pointer_slot = -40,
                                        .cfa_offset_bias = 160,
                                        .cfa_offset_unit = 8};

/// Null for a byte that no version's ABI has.
const AbiTraits* find_abi(std::uint8_t identifier);
/// The ABI of 64-bit ELF files with this e_machine and byte order. Null: SFrame has none.
const AbiTraits* find_abi(std::uint16_t elf_machine, Endian endian);

const AbiTraits& traits_of(Abi abi);

/// Whether `number` is a register that a reader can know the value of, not a column that only DWARF has: the PC, the
/// state of signing.
bool is_machine_register(Abi abi, std::uint32_t number);

}  // namespace sframe_gen::sframe
