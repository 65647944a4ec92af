#pragma once

#include <cstdint>

#include "sframe_gen/format.hpp"

/// The SFrame format on disk ("The SFrame format", version 3, February 2026; section numbers are that text's). The only
/// place that knows its numbers, its bit positions and its record layouts; encoder, decoder and dump share it.
/// version.hpp has what differs between versions.
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

/// sframe_func_desc_idx (2.3.1): start i64, size u32, offset of the attribute u32.
namespace fde_index {
inline constexpr std::uint32_t attribute_at = 12;
}  // namespace fde_index

/// sframe_func_desc_attr (2.3.2): row count u16, info u8, info2 u8, repeat size u8.
namespace fde_attribute {
inline constexpr std::uint32_t info_at = 2, info2_at = 3, repeat_size_at = 4;
}  // namespace fde_attribute

/// sframe_func_desc_entry of versions 1 and 2, and CTF Frame's: start i32, size u32, offset of the rows u32, row
/// count u32, info u8; version 2 goes on with repeat size u8 and two bytes of padding.

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
