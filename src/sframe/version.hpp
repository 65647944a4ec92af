#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "sframe/format.hpp"

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
  /// s390x: an odd word of a default row is no offset, but names the register that a value is in.
  bool has_register_words = false;
  bool dumps_bare_registers = false;  ///< "r14", which a version with register offsets shows as "r14+0"
  bool has_repeat_size = false;       ///< PCMASK functions name the size of their block; else row starts are bit masks
  /// aarch64: a bit for rows with a signed return address, and one for functions that sign with key B. The text of
  /// version 1 lacks the latter; binutils 2.40 writes and reads it.
  bool has_mangled_ra = false;
  bool has_s390x = false;
  bool frame_pointer_first = false;  ///< data words CFA, FP, RA instead of CFA, RA, FP

  constexpr std::uint32_t header_size() const { return has_auxiliary_header ? 28 : 27; }
};

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
  traits.has_s390x = true;
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

/// The version with this number, of SFrame. Null: there is none.
const VersionTraits* find_version(std::uint8_t number);

}  // namespace sframe_gen::sframe
