#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sframe_gen/error.hpp"
#include "sframe_gen/format.hpp"
#include "sframe_gen/visibility.h"

SFRAME_GEN_BEGIN_CXX

/// A decoded .sframe section: functions and rows, independent of their encoding.
namespace sframe_gen::sframe {

/// base + offset, or *(base + offset): the recovery rule of section 3.2. A default FDE's words are the same
/// rules: CFA = SP/FP + offset, FP = *(CFA + offset). Registers have their DWARF numbers.
struct Rule {
  std::optional<std::uint32_t> base_register = std::nullopt;  ///< without a value: the CFA
  std::int32_t offset = 0;                                    ///< bytes
  bool dereferenced = false;

  /// *(CFA + offset)
  static constexpr Rule at_cfa(std::int32_t offset) { return {std::nullopt, offset, true}; }
  /// CFA + offset
  static constexpr Rule cfa_plus(std::int32_t offset) { return {std::nullopt, offset, false}; }
  /// *(register + offset)
  static constexpr Rule at_register(std::uint32_t number, std::int32_t offset) { return {number, offset, true}; }
  /// register + offset
  static constexpr Rule register_plus(std::uint32_t number, std::int32_t offset) { return {number, offset, false}; }
  /// What the register holds. If the rule is that of the same register, it is unchanged.
  static constexpr Rule in_register(std::uint32_t number) { return {number, 0, false}; }

  friend bool operator==(const Rule&, const Rule&) = default;
};

/// How to find the caller of one frame: the rules of section 3.2 for CFA, return address and frame pointer.
struct RecoveryRules {
  Rule cfa = {};
  std::optional<Rule> return_address = std::nullopt;  ///< without a value: the ABI's fixed place, or unchanged
  std::optional<Rule> frame_pointer = std::nullopt;   ///< without a value: unchanged
  bool mangled_ra = false;                            ///< aarch64: the return address is signed
  friend bool operator==(const RecoveryRules&, const RecoveryRules&) = default;
};

/// One frame row entry: from `pc_offset` to the next row, or to the end of the function or of the repeated block.
struct Fre {
  std::uint32_t pc_offset = 0;  ///< bytes from the start of the function; with PcType::Mask, of the block
  std::optional<RecoveryRules> recovery = std::nullopt;  ///< without a value: RA undefined, the outermost frame
  friend bool operator==(const Fre&, const Fre&) = default;
};

/// One function descriptor entry: a function, or a part of one, with its rows.
struct Fde {
  std::uint64_t start = 0;  ///< virtual address
  std::uint32_t size = 0;   ///< bytes
  bool signal_frame = false;
  bool b_key = false;  ///< aarch64: return addresses are signed with the B key
  PcType pc_type = PcType::Increment;
  /// Bytes of the repeated block with PcType::Mask; else 0. 0 with Mask too in CTF Frame and SFrame version 1, whose
  /// row starts are bit masks: a row holds for the PC offsets that have all of its bits set or more.
  std::uint8_t repeat_size = 0;
  FdeType type = FdeType::Default;
  std::vector<Fre> fres;  ///< ascending by pc_offset

  /// Adds a row after the others.
  void add_row(std::uint32_t pc_offset, const RecoveryRules& rules) { fres.push_back({pc_offset, rules}); }

  friend bool operator==(const Fde&, const Fde&) = default;
};

/// A decoded section.
struct Section {
  std::uint64_t address = 0;  ///< virtual address of the section
  Endian endian = Endian::Little;
  Version version = Version::V3;
  std::uint8_t flags = 0;
  Abi abi = Abi::Amd64;
  std::int8_t fixed_fp_offset = 0;
  std::int8_t fixed_ra_offset = 0;
  std::vector<Fde> fdes;  ///< in the order of the index
};

/// What the decoder accepts although the specification does not allow it.
struct Strictness {
  /// A row may start at the end of its function, where it covers nothing. GNU as writes one for a CFI directive after
  /// the last instruction, and for a function of no bytes; libsframe of binutils 2.46 and later accepts it.
  bool allow_fre_at_end = true;
  /// Functions may overlap: for a relocatable file, where relocations have yet to say what the starts are.
  bool allow_overlap = false;
};

/// Decodes a section of any version and either byte order. Trusts nothing: a section that contradicts the format or
/// itself throws MalformedInput, naming the place. An unknown version throws Refused.
/// Time is linear in bytes and rows, n log n in the functions of an unsorted index; time and memory are bounded by the
/// section's size, whatever the counts in it claim.
///
/// `section_address` is the section's virtual address: function starts are stored relative to it or to their own.
Section decode(std::span<const std::byte> bytes, std::uint64_t section_address, const InputOrigin& origin,
               Strictness strictness = {}, Family family = Family::SFrame);

/// A decoded section, and where it is not as the specification has it.
struct RemarkedSection {
  Section section;
  std::vector<std::string> remarks;  ///< the first 16: "a.out: .sframe+0x5: fixed FP offset is -16, not 0"
};

/// Does the same, but turns a fault that does not hinder reading into a remark: a fixed offset of FP or RA, or bits and
/// bytes that should be zero.
RemarkedSection decode_with_remarks(std::span<const std::byte> bytes, std::uint64_t section_address,
                                    const InputOrigin& origin, Strictness strictness = {},
                                    Family family = Family::SFrame);

}  // namespace sframe_gen::sframe

namespace sframe_gen {

/// A stack trace section of a file, decoded.
struct FileSection {
  std::string name;  ///< ".sframe" or ".ctf_frame"
  sframe::Section section;
  std::vector<std::string> remarks = {};  ///< where it is not as the specification has it, but can be read
};

/// Returns .sframe and .ctf_frame of a file, one of them or both. Throws Refused if there is neither, and
/// MalformedInput for a section that is damaged or for another architecture than the file. Not for archives.
std::vector<FileSection> read_sections(const std::filesystem::path& file);

/// Does the same for each member of an archive that has one: calls `visit` with its name, "libfoo.a(bar.o)", and
/// `failed` for a damaged member. Throws Refused if no member has one.
void read_archive_sections(const std::filesystem::path& archive,
                           const std::function<void(const std::string&, const std::vector<FileSection>&)>& visit,
                           const std::function<void(const Failure&)>& failed);

}  // namespace sframe_gen

SFRAME_GEN_END_CXX
