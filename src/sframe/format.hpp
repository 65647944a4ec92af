#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "sframe_gen/format.hpp"
#include "support/dwarf_registers.hpp"
#include "support/endian.hpp"

/// The SFrame format on disk ("The SFrame format", version 3, February 2026; section numbers are that text's). The only
/// place that knows its numbers, its bit positions and its record layouts, and what differs between versions and
/// machines; encoder, decoder and dump share it.
namespace sframe_gen::sframe {

inline constexpr std::uint16_t magic = 0xdee2;  ///< section 2.1.1

/// Section-wide flags (2.1.3).
namespace flag {
inline constexpr std::uint8_t sorted = 0x1;
inline constexpr std::uint8_t frame_pointer = 0x2;               ///< all functions preserve it; up to version 2
inline constexpr std::uint8_t function_start_pc_relative = 0x4;  ///< version 2 errata 1, version 3
}  // namespace flag

/// sframe_header (2.2): byte offsets of the fields that every version has in one place.
namespace header {
inline constexpr std::uint32_t version_at = 2, flags_at = 3, abi_at = 4, fixed_fp_at = 5, fixed_ra_at = 6,
                               auxiliary_length_at = 7;
}  // namespace header

/// sframe_func_desc_idx (2.3.1) is start i64, size u32, offset of the attribute u32. sframe_func_desc_attr (2.3.2): row
/// count u16, info u8, info2 u8, repeat size u8.
namespace fde_attribute {
inline constexpr std::uint32_t info_at = 2, info2_at = 3, repeat_size_at = 4, size = 5;
}  // namespace fde_attribute

/// sframe_func_desc_entry of version 2: start i32, size u32, offset of the rows u32, row count u32, info u8, repeat
/// size u8, padding u16. Version 1's and CTF Frame's end with the info byte.
namespace fde_entry {
inline constexpr std::uint32_t row_count_at = 12, info_at = 16, repeat_size_at = 17, padding_at = 18;
}  // namespace fde_entry

enum class FreAddressWidth : std::uint8_t { One = 0, Two = 1, Four = 2 };  ///< SFRAME_FRE_TYPE_ADDR1/2/4 (2.3.3.3)
enum class DataWordWidth : std::uint8_t { One = 0, Two = 1, Four = 2 };    ///< SFRAME_FRE_DATAWORD_* (2.4.1)

/// 1, 2 or 4.
constexpr unsigned bytes_of(FreAddressWidth width) {
  return 1U << static_cast<unsigned>(width);
}
constexpr unsigned bytes_of(DataWordWidth width) {
  return 1U << static_cast<unsigned>(width);
}

/// sfda_func_info (2.3.3). Versions 1 and 2 and CTF Frame have the same byte without the signal bit; CTF Frame numbers
/// its row types from 1.
class FdeInfo {
 public:
  constexpr explicit FdeInfo(std::uint8_t byte) : byte_(byte) {}
  constexpr FdeInfo(unsigned fre_type, PcType pc_type, bool b_key, bool signal_frame)
      : byte_(static_cast<std::uint8_t>(fre_type | static_cast<unsigned>(pc_type) << 4U | (b_key ? 0x20U : 0U) |
                                        (signal_frame ? 0x80U : 0U))) {}

  constexpr std::uint8_t byte() const { return byte_; }
  /// The raw field: values above 2 are undefined.
  constexpr unsigned fre_type() const { return byte_ & 0x0fU; }
  constexpr PcType pc_type() const { return static_cast<PcType>(byte_ >> 4U & 1U); }
  constexpr bool b_key() const { return (byte_ & 0x20U) != 0; }
  constexpr bool signal_frame() const { return (byte_ & 0x80U) != 0; }

 private:
  std::uint8_t byte_;
};

/// sfda_func_info2 (2.3.3).
class FdeInfo2 {
 public:
  constexpr explicit FdeInfo2(std::uint8_t byte) : byte_(byte) {}
  constexpr explicit FdeInfo2(FdeType type) : byte_(static_cast<std::uint8_t>(type)) {}

  constexpr std::uint8_t byte() const { return byte_; }
  /// The raw field: values above 1 are undefined.
  constexpr unsigned fde_type() const { return byte_ & 0x1fU; }
  constexpr bool reserved_bits_set() const { return (byte_ & 0xe0U) != 0; }

 private:
  std::uint8_t byte_;
};

/// sfre_info (2.4.1).
class FreInfo {
 public:
  constexpr explicit FreInfo(std::uint8_t byte) : byte_(byte) {}
  constexpr FreInfo(bool base_is_sp, unsigned word_count, DataWordWidth width, bool mangled_ra)
      : byte_(static_cast<std::uint8_t>((base_is_sp ? 1U : 0U) | (word_count & 0xfU) << 1U |
                                        static_cast<unsigned>(width) << 5U | (mangled_ra ? 0x80U : 0U))) {}

  constexpr std::uint8_t byte() const { return byte_; }
  constexpr bool base_is_sp() const { return (byte_ & 1U) != 0; }
  constexpr unsigned word_count() const { return byte_ >> 1U & 0xfU; }
  /// The raw field: 3 is undefined.
  constexpr unsigned word_width() const { return byte_ >> 5U & 3U; }
  constexpr bool mangled_ra() const { return (byte_ & 0x80U) != 0; }

 private:
  std::uint8_t byte_;
};

/// Control word of a flexible descriptor's pair (3.2).
class ControlWord {
 public:
  constexpr explicit ControlWord(std::uint32_t word) : word_(word) {}
  constexpr static ControlWord of_register(std::uint32_t number, bool dereferenced) {
    return ControlWord(number << 3U | (dereferenced ? 2U : 0U) | 1U);
  }
  constexpr static ControlWord of_cfa(bool dereferenced) { return ControlWord(dereferenced ? 2U : 0U); }

  constexpr std::uint32_t word() const { return word_; }
  constexpr bool is_padding() const { return word_ == 0; }
  constexpr bool register_based() const { return (word_ & 1U) != 0; }
  constexpr bool dereferenced() const { return (word_ & 2U) != 0; }
  constexpr bool reserved_bit_set() const { return (word_ & 4U) != 0; }
  constexpr std::uint32_t register_number() const { return word_ >> 3U; }

 private:
  std::uint32_t word_;
};

/// Register numbers from here on do not fit beside the three low bits of a control word.
inline constexpr std::uint32_t register_number_limit = 1U << 29U;

}  // namespace sframe_gen::sframe

/// What each ABI fixes about its frames. To support another ABI: give it traits here, and a case of its own where the
/// traits cannot represent it.
namespace sframe_gen::sframe {

/// What the ABI fixes (sections 2.2.1, 3.1).
struct AbiTraits {
  Abi abi = Abi::Amd64;
  std::string_view name;                      ///< "AMD64"
  Version first_version = Version::CtfFrame;  ///< older ones have no identifier for it
  bool came_with_erratum = false;             ///< its identifier came with erratum 1 of `first_version`
  Endian endian = Endian::Little;
  std::uint32_t stack_pointer = 0;  ///< DWARF register number, as those that follow
  std::uint32_t frame_pointer = 0;
  std::uint32_t return_address = 0;   ///< the column a CIE returns by
  bool return_address_is_pc = false;  ///< that column is no register, but stands for the PC
  /// DWARF numbers, first and last, of registers that a reader can know the value of. Other columns are DWARF's own:
  /// the PC, the state of signing.
  std::array<std::array<std::uint32_t, 2>, 2> registers{};
  /// RA = *(CFA + this) where a row has no RA rule. 0: there is no such place, the RA is then still in its register.
  std::int8_t fixed_ra_offset = 0;
  /// A default row's words are CFA, RA, FP instead of CFA, FP.
  bool tracks_return_address = false;
  bool signs_return_address = false;    ///< has pointer authentication: the mangled bit and the B key mean something
  bool has_register_words = false;      ///< in versions that have them, an odd word of a default row names a register
  bool pads_return_address = false;     ///< RA offset 0 in a default row: not saved, a place kept for the FP's (3.1.3)
  std::int32_t stack_pointer_bias = 0;  ///< the caller's SP = CFA + this
  std::int32_t stack_pointer_slot = 0;  ///< the caller's SP is also in memory at CFA + this; 0: nowhere
  std::int32_t cfa_offset_bias = 0;     ///< a row stores (CFA offset - this) / cfa_offset_unit
  std::int32_t cfa_offset_unit = 1;
};

/// x86-64 (AMD64 psABI, 3.2.2, and figure 3.36 for register numbers). The stack grows down; SP is rsp, FP is rbp where
/// a function keeps one. A call pushes the return address, so the RA is always at CFA - 8, the CFA is what SP was
/// before the call, and the caller's SP is the CFA. A leaf may use 128 bytes below SP (the red zone). Rows store CFA
/// and FP.
///
/// Registers: general ones, the vector, x87, MMX, segment, control, mask and bound registers up to r31 of APX, 145.
inline constexpr AbiTraits amd64_traits{.abi = Abi::Amd64,
                                        .name = "AMD64",
                                        .stack_pointer = amd64_registers.stack_pointer,
                                        .frame_pointer = amd64_registers.frame_pointer,
                                        .return_address = amd64_registers.return_address,
                                        .return_address_is_pc = true,
                                        .registers = {{{0, 15}, {17, 145}}},
                                        .fixed_ra_offset = -8};

/// AArch64 (AAPCS64, of general-purpose registers and of the frame pointer; DWARF for the Arm 64-bit Architecture). A
/// call leaves the return address in x30 (LR); a function saves it where it likes, or not at all. FP is x29: it points
/// at a frame record, the caller's FP and LR. The CFA is the caller's SP. LR may be signed with a key (A or B) while it
/// is saved, and readers take the signature off. Rows store CFA, RA and FP.
///
/// Registers: x0 to x30 and sp, v0 to v31; between them are pc, ELR_mode, RA_SIGN_STATE, TPIDRRO, VG, FFR, predicates.
inline constexpr AbiTraits aarch64_traits{.abi = Abi::Aarch64Little,
                                          .name = "AArch64",
                                          .stack_pointer = aarch64_registers.stack_pointer,
                                          .frame_pointer = aarch64_registers.frame_pointer,
                                          .return_address = aarch64_registers.return_address,
                                          .registers = {{{0, 31}, {64, 95}}},
                                          .tracks_return_address = true,
                                          .signs_return_address = true};

inline constexpr AbiTraits aarch64_big_traits = [] {
  AbiTraits traits = aarch64_traits;
  traits.abi = Abi::Aarch64Big;
  traits.name = "AArch64 (big-endian)";
  traits.endian = Endian::Big;
  return traits;
}();

/// s390x (ELF Application Binary Interface, s390x Supplement, 1.2.2). SP is r15; FP is r11, by custom. A call leaves
/// the return address in r14. The caller has made room for the callee's registers: 160 bytes from its SP on, with r15
/// at byte 120, so the CFA is the caller's SP + 160, and functions save registers in the caller's frame, or in
/// floating-point registers. Rows store CFA, RA and FP, the offsets of the CFA less 160 and in words of 8 bytes.
///
/// Registers: general, floating-point, control and access registers, vector
/// registers; 64 and 65 are the PSW.
inline constexpr AbiTraits s390x_traits{.abi = Abi::S390x,
                                        .name = "s390x",
                                        .first_version = Version::V2,
                                        .came_with_erratum = true,
                                        .endian = Endian::Big,
                                        .stack_pointer = s390x_registers.stack_pointer,
                                        .frame_pointer = s390x_registers.frame_pointer,
                                        .return_address = s390x_registers.return_address,
                                        .registers = {{{0, 63}, {68, 83}}},
                                        .tracks_return_address = true,
                                        .has_register_words = true,
                                        .pads_return_address = true,
                                        .stack_pointer_bias = -160,
                                        .stack_pointer_slot = -40,
                                        .cfa_offset_bias = 160,
                                        .cfa_offset_unit = 8};

inline constexpr std::array all_abis{aarch64_big_traits, aarch64_traits, amd64_traits, s390x_traits};
/// Stands where there is no section.
inline constexpr const AbiTraits& default_abi = amd64_traits;

/// Returns null for a byte that no version's ABI has.
constexpr const AbiTraits* find_abi(std::uint8_t identifier) {
  for (const AbiTraits& candidate : all_abis) {
    if (static_cast<std::uint8_t>(candidate.abi) == identifier) return &candidate;
  }
  return nullptr;
}

constexpr const AbiTraits& traits_of(Abi abi) {
  return *find_abi(static_cast<std::uint8_t>(abi));
}

/// Whether `number` is one of AbiTraits::registers.
constexpr bool is_machine_register(const AbiTraits& abi, std::uint32_t number) {
  for (const auto& [first, last] : abi.registers)
    if (first <= number && number <= last) return true;
  return false;
}

}  // namespace sframe_gen::sframe

/// What tells the versions of the format apart, apart from the contents of rows.
namespace sframe_gen::sframe {

/// Byte layout and vocabulary of one version. The sources are the specifications of SFrame versions 1, 2 (with errata
/// 1 and 2) and 3, and ctf-frame.h of the sixth CTF Frame patch series.
struct VersionTraits {
  Version version = Version::V3;
  std::string_view name;          ///< "SFrame version 3"
  std::string_view section_name;  ///< ".sframe"
  std::uint8_t number = 3;        ///< in the preamble
  std::uint8_t known_flags = 0;
  std::uint8_t reserved_fde_info = 0;  ///< bits of a function's info byte that must be clear
  bool has_auxiliary_header = true;    ///< CTF Frame's header lacks the length byte
  std::uint8_t first_fre_type = 0;     ///< number of the row type with one-byte starts
  std::uint32_t descriptor_size = 0;   ///< bytes of an entry of the function sub-section

  // What the version can say.
  bool splits_descriptor = false;  ///< in an index entry, and an attribute in front of the rows
  std::uint8_t start_size = 4;     ///< bytes of a descriptor's start, which is signed
  std::uint32_t largest_fre_count =
      UINT32_MAX;  ///< of a descriptor: its field has 16 bits in version 3 (2.3.2), 32 before
  bool marks_signal_frames = false;
  bool has_flexible_fdes = false;
  bool has_register_words = false;    ///< for ABIs that have them
  bool dumps_bare_registers = false;  ///< "r14", which a version with register offsets shows as "r14+0"
  bool has_repeat_size = false;       ///< PCMASK functions name the size of their block; else row starts are bit masks
  /// aarch64: a bit for rows with a signed return address, and one for functions that sign with the B key. The text of
  /// version 1 lacks the latter; binutils 2.40 writes and reads it.
  bool has_mangled_ra = false;
  bool frame_pointer_first = false;  ///< data words CFA, FP, RA instead of CFA, RA, FP

  constexpr std::uint32_t header_size() const { return has_auxiliary_header ? 28 : 27; }
};

/// Whether an odd word of a default row is no offset, but names the register that a value is in.
constexpr bool has_register_words(const VersionTraits& version, const AbiTraits& abi) {
  return version.has_register_words && abi.has_register_words;
}

/// Whether the version has an identifier for the ABI.
constexpr bool has_abi(const VersionTraits& version, const AbiTraits& abi) {
  return version.version >= abi.first_version;
}

/// Returns how many rows a section of `size` bytes may claim: descriptors may share one block of rows, so a few
/// kilobytes could ask for billions of them.
constexpr std::uint64_t most_rows(std::uint64_t size) {
  constexpr std::uint64_t always = 1U << 20U, per_byte = 4;
  return size > always / per_byte ? size * per_byte : always;
}

/// Where the fields of a header lie: the same in all versions, but for the byte that CTF Frame lacks.
class HeaderFields {
 public:
  constexpr explicit HeaderFields(const VersionTraits& traits) : counts_at_(traits.has_auxiliary_header ? 8 : 7) {}
  constexpr std::uint32_t fde_count_at() const { return counts_at_; }
  constexpr std::uint32_t fre_count_at() const { return counts_at_ + 4; }
  constexpr std::uint32_t fre_bytes_at() const { return counts_at_ + 8; }
  constexpr std::uint32_t fdes_at() const { return counts_at_ + 12; }
  constexpr std::uint32_t fres_at() const { return counts_at_ + 16; }

 private:
  std::uint32_t counts_at_;
};

namespace detail {

inline constexpr std::uint8_t old_flags = flag::sorted | flag::frame_pointer;

constexpr VersionTraits ctf_frame() {
  VersionTraits traits;
  traits.version = Version::CtfFrame;
  traits.name = "CTF Frame";
  traits.section_name = ".ctf_frame";
  traits.number = 1;
  traits.known_flags = old_flags;
  traits.reserved_fde_info = 0xe0;
  traits.has_auxiliary_header = false;
  traits.first_fre_type = 1;
  traits.descriptor_size = 17;
  traits.dumps_bare_registers = true;
  traits.frame_pointer_first = true;
  return traits;
}

constexpr VersionTraits version_1() {
  VersionTraits traits;
  traits.version = Version::V1;
  traits.name = "SFrame version 1";
  traits.section_name = ".sframe";
  traits.number = 1;
  traits.known_flags = old_flags;
  traits.reserved_fde_info = 0xc0;
  traits.descriptor_size = 17;
  traits.dumps_bare_registers = true;
  traits.has_mangled_ra = true;
  return traits;
}

constexpr VersionTraits version_2() {
  VersionTraits traits = version_1();
  traits.version = Version::V2;
  traits.name = "SFrame version 2";
  traits.number = 2;
  traits.known_flags = old_flags | flag::function_start_pc_relative;
  traits.descriptor_size = 20;
  traits.has_repeat_size = true;
  traits.has_register_words = true;
  return traits;
}

constexpr VersionTraits version_3() {
  VersionTraits traits = version_2();
  traits.version = Version::V3;
  traits.name = "SFrame version 3";
  traits.number = 3;
  traits.known_flags = flag::sorted | flag::function_start_pc_relative;
  traits.reserved_fde_info = 0x40;
  traits.descriptor_size = 16;
  traits.splits_descriptor = true;
  traits.start_size = 8;
  traits.largest_fre_count = UINT16_MAX;
  traits.marks_signal_frames = true;
  traits.has_flexible_fdes = true;
  traits.has_register_words = false;
  traits.dumps_bare_registers = false;
  return traits;
}

/// By age, as Version counts.
inline constexpr std::array version_table{ctf_frame(), version_1(), version_2(), version_3()};

}  // namespace detail

constexpr const VersionTraits& traits_of(Version version) {
  return detail::version_table[static_cast<std::size_t>(version)];
}

/// Returns the version of a family with this number, or null.
constexpr const VersionTraits* find_version(std::uint8_t number, Family family = Family::SFrame) {
  for (const VersionTraits& candidate : detail::version_table) {
    const bool is_ctf = candidate.version == Version::CtfFrame;
    if (candidate.number == number && is_ctf == (family == Family::CtfFrame)) return &candidate;
  }
  return nullptr;
}

}  // namespace sframe_gen::sframe

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
