#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cfi/rules.hpp"
#include "elf/image.hpp"
#include "elf/object/relocations.hpp"
#include "elf/pointer_encoding.hpp"
#include "sframe_gen/error.hpp"
#include "sframe_gen/reasons.hpp"
#include "support/bytes.hpp"
#include "support/endian.hpp"

/// The sections of call frame information, and their CIEs and FDEs as plain values. Spans point into the section's
/// bytes.
namespace sframe_gen::cfi {

namespace pointer_encoding = elf::pointer_encoding;

enum class FrameSection : std::uint8_t { EhFrame, DebugFrame };

/// One CFI section of a file, its bytes in memory.
struct LoadedSection {
  FrameSection kind;
  std::uint64_t address;
  InputOrigin origin;
  std::vector<std::byte> storage;    ///< holds the bytes of a compressed or relocated section
  std::span<const std::byte> bytes;  ///< into the image or `storage`
  /// An object's relocations against code.
  std::vector<elf::object::CodeReference> code_references;
  std::vector<elf::object::FieldRelocation> relocated_fields;  ///< all of an object's relocations
};

/// .eh_frame (if it has bytes in this file), then .debug_frame or .zdebug_frame (decompressed where needed). Of an
/// object all sections of these names, which groups may have given it, relocated.
std::vector<LoadedSection> load_frame_sections(const elf::Image& image);

/// A common information entry (DWARF 5, section 6.4.1; LSB 5.0, section 10.6 for .eh_frame).
struct Cie {
  std::uint64_t code_alignment = 1;
  std::int64_t data_alignment = 1;
  DwarfRegister return_address{};
  std::uint8_t pointer_encoding = 0;  ///< DW_EH_PE_* of FDE addresses and set_loc ('R'); 0 is an absolute pointer
  bool signal_frame = false;          ///< augmentation 'S'
  std::span<const std::byte> initial_instructions;
  bool b_key = false;                  ///< augmentation 'B': return addresses are signed with the B key (aarch64)
  bool has_augmentation_data = false;  ///< augmentation 'z': FDEs have some of it too
  bool has_unknown_letters = false;    ///< what its rules mean is not known, only where they are
};

/// A frame description entry. Large files have 100,000, so it is small.
struct Fde {
  std::uint64_t function_start = 0;        ///< virtual address
  std::uint64_t function_size = 0;         ///< bytes
  std::uint32_t section_offset = 0;        ///< of the FDE
  std::uint32_t cie_index = 0;             ///< into FrameTable::cies
  std::uint32_t instructions_offset = 0;   ///< in the section
  std::uint32_t size_of_instructions = 0;  ///< bytes
};

/// One section's CIEs and FDEs.
struct FrameTable {
  /// More are counted, not named.
  static constexpr std::size_t most_named_unreadable = 1000;
  InputOrigin origin;
  FrameSection kind = FrameSection::EhFrame;
  Endian endian = Endian::Little;
  std::uint64_t section_address = 0;
  std::span<const std::byte> section_bytes;
  std::vector<Cie> cies;
  std::vector<Fde> fdes;  ///< that can be read
  std::uint64_t unreadable_count = 0;
  std::vector<UnreadableFde> unreadable;  ///< the first of them

  /// Counts an FDE that cannot be read, and names it where it is one of the first.
  void leave_out(std::uint64_t fde_offset, const std::string& why) {
    ++unreadable_count;
    if (unreadable.size() < most_named_unreadable) unreadable.push_back({origin.section, fde_offset, why});
  }

  /// Offset in the section of the FDE's function start: after its length and the place of its CIE, which have 4
  /// bytes each, or 4 + 8 and 8 (DWARF 5, section 7.2.2).
  std::uint64_t start_field_of(const Fde& fde) const {
    const bool wide = load<std::uint32_t>(section_bytes.subspan(fde.section_offset), endian) == UINT32_MAX;
    return std::uint64_t{fde.section_offset} + (wide ? 20 : 8);
  }

  std::span<const std::byte> instructions_of(const Fde& fde) const {
    return section_bytes.subspan(fde.instructions_offset, fde.size_of_instructions);
  }

  /// Offset in the section of bytes that lie in it.
  std::uint64_t offset_of(std::span<const std::byte> part) const {
    return static_cast<std::uint64_t>(part.data() - section_bytes.data());
  }
};

/// Reads the value of a DW_EH_PE-encoded pointer (LSB 5.0, section 10.5), whatever it is relative to.
inline std::uint64_t read_pointer_value(ByteReader& reader, std::uint8_t encoding, const char* what);

/// Reads a DW_EH_PE-encoded pointer. `section_address` is the address of offset 0 of the reader's section. Absolute and
/// pc-relative pointers are read; any other application throws MalformedInput, as it has no defined base in a linked
/// file.
inline std::uint64_t read_pointer(ByteReader& reader, std::uint8_t encoding, std::uint64_t section_address,
                                  const char* what);

// What linked files have in .eh_frame, a hundred thousand times in a large one, is read here; the rest elsewhere.

std::uint64_t read_other_pointer(ByteReader& reader, std::uint8_t encoding, std::uint64_t section_address,
                                 const char* what);

inline std::uint64_t read_pointer_value(ByteReader& reader, std::uint8_t encoding, const char* what) {
  if ((encoding & pointer_encoding::format_mask) != pointer_encoding::sdata4)
    return elf::read_pointer_value(reader, encoding, what);
  return static_cast<std::uint64_t>(std::int64_t{reader.i32(what)});
}

inline std::uint64_t read_pointer(ByteReader& reader, std::uint8_t encoding, std::uint64_t section_address,
                                  const char* what) {
  if (encoding != (pointer_encoding::pc_relative | pointer_encoding::sdata4))
    return read_other_pointer(reader, encoding, section_address, what);
  const std::uint64_t at = section_address + reader.offset();
  return at + static_cast<std::uint64_t>(std::int64_t{reader.i32(what)});
}

/// A CIE's augmentation string (LSB 5.0, section 10.6.1.1.1).
struct Augmentation {
  std::string_view letters;   ///< without the leading 'z'
  bool has_data = false;      ///< 'z': an augmentation data block follows in CIE and FDEs
  bool signal_frame = false;  ///< 'S'
  bool b_key = false;         ///< 'B'
  bool has_unknown = false;   ///< a letter whose meaning is not known
};

struct AugmentationData {
  std::uint8_t fde_pointer_encoding = 0;  ///< 'R'; DW_EH_PE_absptr without it
};

/// Reads the string at the reader. Only L, P, R, S, B and G are known. Throws MalformedInput for letters whose data
/// cannot be measured: unknown ones without 'z' ("eh", of gcc 2), and L, P and R without it.
Augmentation read_augmentation_string(ByteReader& reader);
Augmentation parse_augmentation(std::string_view text);
/// Reads the CIE's augmentation data block, up to the first unknown letter. Throws MalformedInput if 'R'
/// follows it.
AugmentationData read_augmentation_data(const Augmentation& augmentation, ByteReader data);

/// Takes out of an object's table, as unreadable, the FDEs with a relocation in their addresses or instructions, or in
/// those of their CIE, that is not the one of the function's start. Those of personality routines and LSDAs, in
/// augmentation data, do not matter to rows. `fields` is ascending.
void leave_out_relocated_fields(FrameTable& table, std::span<const elf::object::FieldRelocation> fields);

/// Walks the records of .eh_frame or .debug_frame and gives their CIEs and FDEs. Whatever a reader relies on is checked
/// on the way: each length fits, each FDE names a CIE of this section and is in its first 4 GiB, CIE versions and
/// augmentations are known, the fixed fields fit. An FDE of which that does not hold, or whose CIE cannot be read, is
/// named as unreadable. .eh_frame ends at its terminator (a zero length), where there is one; in .debug_frame zero
/// lengths are passed over, since Go ends its own part with one, and a linker appends that of C.
///
/// `section_bytes` must outlive the table. Throws MalformedInput with the place of the first
/// length that does not fit: the records after it cannot be found.
FrameTable index_frame_section(FrameSection kind, std::span<const std::byte> section_bytes,
                               std::uint64_t section_address, Endian endian, const InputOrigin& origin);

}  // namespace sframe_gen::cfi
