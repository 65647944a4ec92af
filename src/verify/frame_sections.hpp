#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "support/bytes.hpp"
#include "support/endian.hpp"
#include "support/range.hpp"
#include "verify/cfi_sections.hpp"

namespace sframe_gen::verify {

/// Returns what libdwarf is known to read wrongly in an FDE or its CIE, as a clause; null: nothing. Where it disagrees
/// with a row of such an FDE, the row is not wrong but unchecked. Throws MalformedInput.
///
/// libdwarf 20210528 and 0.11: DW_CFA_val_offset_sf becomes "same value", and the operand of DW_CFA_set_loc is taken
/// for an address, whatever the CIE says of pointers. Registers beyond the table that we give it are refused in one
/// row, and unspecified in the next.
const char* misread_by_libdwarf(const DwarfTable& table, std::size_t fde_index);

/// Form of a CIE and of its FDEs.
struct CieForm {
  std::uint8_t pointer_encoding = 0;   ///< DW_EH_PE_*
  bool has_augmentation_data = false;  ///< after the pointers of FDEs
  bool signal_frame = false;           ///< augmentation 'S'
  bool b_key = false;                  ///< augmentation 'B'
  const char* unsupported = nullptr;   ///< what libdwarf does not support, as a clause; null: it reads the FDEs
};

/// Facts about a section that libdwarf does not tell.
struct CheckedFrameSection {
  /// Bytes up to the terminator of .eh_frame (a zero length), or the whole size when there is none.
  std::uint64_t used = 0;
  /// Bytes [begin, end) that libdwarf must not see, to become DW_CFA_nop of the record before them, at `record`.
  /// Ascending. Zero lengths in .debug_frame: Go ends its own part with one, a linker appends that of C, and
  /// libdwarf would read no further. Records that cannot be read: it would read none.
  struct HiddenBytes {
    std::uint64_t record, begin, end;
  };
  std::vector<HiddenBytes> hidden;
  /// FDEs that are hidden because libdwarf does not support their CIE. They may be right, and rows made from them.
  struct UnsupportedFde {
    std::uint64_t offset = 0;   ///< of the FDE in the section
    Range code;                 ///< that it describes
    const char* why = nullptr;  ///< what libdwarf does not support, as a clause
  };
  std::vector<UnsupportedFde> unsupported;
  /// Whether the section begins with such a record, which must be one of its own then.
  bool first_is_unreadable = false;
  /// Places in the section of augmentation letters without data that some libdwarf does not know: 'B' and 'G' of
  /// aarch64, on which 20210528 gives up.
  std::vector<std::uint64_t> aarch64_letters;
  /// CIEs by offset in the section. No value: the CIE cannot be read.
  std::unordered_map<std::uint64_t, std::optional<CieForm>> cies;
};

/// Walks the records of .eh_frame or .debug_frame as far as libdwarf must be helped: where they end, and what it would
/// stumble over. `address`: virtual address of the section. Throws MalformedInput for lengths that do not fit.
///
/// The generator's own reading (cfi/frame_index.hpp) shares nothing with this one.
CheckedFrameSection check_frame_section(CfiKind kind, std::span<const std::byte> bytes, std::uint64_t address,
                                        Endian endian, const InputOrigin& origin);

/// Makes a copy of a CFI section that every libdwarf reads; null if every libdwarf reads the section itself. Each
/// letter of aarch64 becomes 'S', which has no data either, and hidden bytes become DW_CFA_nop of the record before.
std::shared_ptr<const std::vector<std::byte>> readable_copy(CfiKind kind, std::span<const std::byte> bytes,
                                                            Endian endian, const CheckedFrameSection& checked);

/// Returns the instructions of the record at offset `record` of the section, without those that the copy made of hidden
/// bytes.
std::span<const std::byte> without_hidden(const CheckedFrameSection& checked, std::uint64_t record,
                                          std::span<const std::byte> instructions);

}  // namespace sframe_gen::verify
