#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "sframe_gen/visibility.h"

SFRAME_GEN_BEGIN_CXX

/// The formats that can be written, and who reads which. The sources are the specifications of SFrame versions 1, 2
/// (with errata 1 and 2) and 3, and ctf-frame.h of the sixth CTF Frame patch series.
namespace sframe_gen::sframe {

/// The formats by age. CTF Frame is what SFrame grew from. It counts its own versions, is at 1 as well, and has the
/// same magic number: only the section's name tells it from SFrame version 1.
enum class Version : std::uint8_t { CtfFrame, V1, V2, V3 };

/// Which line of formats a section belongs to: its bytes do not tell CTF Frame from SFrame version 1, its name does.
enum class Family : std::uint8_t { SFrame, CtfFrame };

/// ABI/arch identifiers (version 3, section 2.2.1).
enum class Abi : std::uint8_t { Aarch64Big = 1, Aarch64Little = 2, Amd64 = 3, S390x = 4 };

enum class PcType : std::uint8_t { Increment = 0, Mask = 1 };     ///< SFRAME_FDE_PCTYPE_* (2.3.3.1)
enum class FdeType : std::uint8_t { Default = 0, Flexible = 1 };  ///< SFRAME_FDE_TYPE_* (2.3.3.2)

/// "SFrame version 3".
std::string_view name_of(Version version);
/// "AArch64 (big-endian)".
std::string_view name_of(Abi abi);

}  // namespace sframe_gen::sframe

namespace sframe_gen {

/// Byte order of a file, which need not be the host's.
enum class Endian : std::uint8_t { Little, Big };

/// Whether flexible FDEs are written. Readers of aarch64 sections have never met one (GNU as writes none), so `Auto`
/// means all other architectures.
enum class FlexibleDescriptors : std::uint8_t { Auto, Always, Never };

/// Where FDEs of a compact section may share rows. libsframe swaps the bytes of a section of the other byte order in
/// place, once for each FDE, and so refuses rows that it would swap twice. Tools on the common hosts, which are
/// little-endian, therefore read shared rows of little-endian files only.
enum class SharedRows : std::uint8_t { Always, LittleEndian, Never };

/// What to write: a version, and what its readers are known to support.
struct OutputFormat {
  sframe::Version version = sframe::Version::V3;
  bool pc_relative_starts = true;  ///< version 2: erratum 1; clear for readers older than it
  bool undefined_ra_rows = true;   ///< version 2: erratum 2, rows without data words for the outermost frame
  FlexibleDescriptors flexible = FlexibleDescriptors::Auto;
  /// The most rows of an FDE of a compact section, from 1 to most_compact_rows: what a reader may have to scan.
  /// 0: one FDE for each function, with the bytes that GNU as writes, except for the size (covers_padding).
  std::uint32_t compact_rows = 0;
  SharedRows shared_rows = SharedRows::Always;  ///< in a compact section
  /// In programs and libraries, a function's FDE covers the padding after it, too: some readers look up the return
  /// address of a call at the function's end, which is there. Clear for the sizes that GNU as writes.
  bool covers_padding = true;
  std::uint32_t most_rows = UINT32_MAX;  ///< of an FDE, unless the version has a lower limit
};

/// An FDE takes at least 16 bytes, and may share its rows. With more rows than this, a section could claim more than 4
/// rows per byte, which readers that guard against such claims refuse.
inline constexpr std::uint32_t most_compact_rows = 64;

/// A reader, and the format that it accepts. No version of the format serves all readers. check_readers() knows more
/// about each.
struct ReaderTarget {
  std::string_view name;  ///< "glibc"
  std::string_view meaning;
  OutputFormat format;
};

/// Returns all known readers, as `--for` and `--check` of the program name them.
std::span<const ReaderTarget> reader_targets();

/// Returns the reader of this name, or null.
const ReaderTarget* find_reader_target(std::string_view name);

}  // namespace sframe_gen

SFRAME_GEN_END_CXX
