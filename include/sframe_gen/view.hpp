#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "sframe_gen/section.hpp"
#include "sframe_gen/visibility.h"

SFRAME_GEN_BEGIN_CXX

/// Reads a section in place, to walk stacks with it. Nothing here copies, allocates, throws or locks, so all of it may
/// run in a signal handler.
namespace sframe_gen::sframe {

/// The decoded header; not part of the interface.
struct SectionFields;

/// The result of looking up a PC.
struct Lookup {
  enum class Kind : std::uint8_t {
    Nothing,    ///< the section does not describe this PC
    Row,        ///< `row` leads to the caller
    Outermost,  ///< there is no caller
    Damaged,    ///< the section contradicts the format; never after ViewCheck::Everything, if its bytes stay the same
  };
  Kind kind = Kind::Nothing;
  /// The rules, for Kind::Row. All have a value. Rules that the section leaves to its ABI are filled in: on AMD64 the
  /// RA is *(CFA - 8). The rule of an unchanged register is that register + 0.
  RecoveryRules row;
  bool b_key = false;         ///< of Kind::Row; aarch64: the return address is signed with the B key, if it is signed
  bool signal_frame = false;  ///< of Kind::Row; the caller was interrupted: its PC is that of an instruction
  std::uint64_t function_start = 0;  ///< all but Nothing: the address of the function
  std::uint32_t function_size = 0;   ///< bytes
  std::uint32_t descriptor = 0;      ///< index of the function's FDE
  std::uint32_t row_number = 0;      ///< of the function's rows
};

/// What is wrong with a section: with its header, then with a function, then with a row.
enum class Problem : std::uint8_t {
  None,
  HeaderCut,
  NoMagic,
  UnknownVersion,
  UnknownFlags,
  UnknownAbi,
  OtherByteOrder,
  FixedFp,
  FixedRa,
  IndexOutside,
  RowsInIndex,
  RowsOutside,
  HostileRowCount,
  StrayBytes,
  MoreRows,
  RowCount,
  TooManyRows,
  StartOutside,
  EndOutside,
  NotSorted,
  Overlap,
  FunctionRowsOutside,
  AttributeCut,
  UndefinedRowType,
  ReservedInfo,
  StrayKey,
  ReservedInfo2,
  UndefinedType,
  NoRepeatSize,
  StrayRepeatSize,
  Padding,
  TooFewRowBytes,
  RowCut,
  RowNotAscending,
  RowBeyondFunction,
  RowAtEnd,
  RowBeyondBlock,
  UndefinedWordSize,
  ReservedRowBit,
  StraySignature,
  NoWords,
  SpareWords,
  CfaOverflow,
  OddOffset,
  ReservedControlBit,
  StrayRegister,
  NoOffsetWord,
  NoCfaRegister,
  WordsLeftOver,
  EndsInPadding,
};
/// Returns a few words for a message: "the index is not sorted, but flagged so".
const char* text_of(Problem problem) noexcept;

struct ViewFault {
  Problem problem = Problem::None;
  std::uint64_t offset = 0;  ///< in the section
  explicit operator bool() const noexcept { return problem != Problem::None; }
};

/// How much of a section is checked before it is used.
enum class ViewCheck : std::uint8_t {
  Everything,  ///< linear in bytes and rows: accepts what decode() accepts, and unsorted sections with overlaps
  Header,      ///< constant: a damaged section never leads outside its bytes, but may give wrong rows
};

/// Memory for SectionView::use_pages(): where the look-ups in two pages of code begin.
struct PageSlot {
  std::uint32_t opaque[4]{};
};

/// A section in memory, at any alignment. The bytes must outlive the view and its copies. Threads may share it.
class SectionView {
 public:
  /// Makes a view of no section: all look-ups return Nothing.
  SectionView() noexcept = default;

  /// Opens a section. `address` is its virtual address, from which the starts of functions count; for a section that a
  /// loader has placed, where it is in memory. After a fault, all look-ups return Nothing.
  [[nodiscard]] ViewFault open(std::span<const std::byte> bytes, std::uint64_t address, Family family = Family::SFrame,
                               ViewCheck check = ViewCheck::Everything) noexcept;

  /// Returns how many slots use_pages() needs for pages of `page_size` bytes, a power of two: one for two pages. They
  /// take at most 1,024 bytes more than the section, however much code it claims: if pages of `page_size` would need
  /// more slots, it returns the number for larger pages. Returns 0 if there can be no pages: the index is not flagged
  /// as sorted, or empty, or has more than 2^24 functions or 2^28 bytes of rows.
  std::uint64_t page_slots(std::uint64_t page_size = 512) const noexcept;

  /// Gives the view a table in `slots` of where the look-ups of each page begin: a look-up then searches the functions
  /// of one page, and scans the rows of one page. Pages are of 256 bytes or, where there are fewer slots, of the next
  /// power of two for which these suffice; without a slot there is no table. Slots beyond page_slots(256) are not used.
  /// Takes time in proportion to functions and rows. `slots` must outlive the view and its copies.
  void use_pages(std::span<PageSlot> slots) noexcept;

  /// Looks up a PC: a binary search of the index, or a scan if it is not flagged as sorted, then a scan of the rows.
  Lookup lookup(std::uint64_t pc) const noexcept;

  /// Looks up a PC, and sets `end` to where the result may change: lookup() returns the same at each PC before it.
  /// After the last function, `end` is 2^64 - 1. To make a table of your own, iterate over the section:
  ///
  ///     for (std::uint64_t pc = 0, end = 0; pc != UINT64_MAX; pc = end) take(view.lookup_stretch(pc, end), pc, end);
  ///
  /// Each of the stubs that repeat has its own ranges. Takes as long as lookup(), plus a scan of the index if it is not
  /// flagged as sorted.
  Lookup lookup_stretch(std::uint64_t pc, std::uint64_t& end) const noexcept;

  bool is_open() const noexcept { return is_open_; }
  Version version() const noexcept;
  Abi abi() const noexcept;  ///< AMD64 if nothing is open
  Endian endian() const noexcept;
  std::uint8_t flags() const noexcept;
  std::uint32_t function_count() const noexcept;

 private:
  const SectionFields& fields() const noexcept;

  alignas(8) std::byte fields_[88]{};  ///< SectionFields, if the view is open
  bool is_open_ = false;
};

}  // namespace sframe_gen::sframe

SFRAME_GEN_END_CXX
