#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sframe_gen/error.hpp"
#include "sframe_gen/format.hpp"
#include "sframe_gen/visibility.h"

SFRAME_GEN_BEGIN_CXX

/// Tells which readers support the .sframe section of a file. Their rules are known; no reader is run.
namespace sframe_gen {

/// What readers judge a section by. None is wrong in itself: what one reader refuses another needs.
enum class Fact : std::uint8_t {
  // The kind of file, for readers of other kinds.
  InObject,      ///< an object or a member of an archive
  InLinkedFile,  ///< a program or library
  KernelsOwn,    ///< of a Linux kernel
  // The file around it.
  NoSegment,         ///< no PT_GNU_SFRAME leads to it
  NotLoaded,         ///< not in one readable PT_LOAD
  SeveralCodes,      ///< functions in several executable segments
  OutsideCode,       ///< a function in none
  ExecutableHeader,  ///< a program header other than PT_LOAD is executable, before the one of the code that it is in
  PlainType,         ///< of an object: its type is not SHT_GNU_SFRAME
  WrongRelocations,  ///< of an object: not one for each function, in their order, relative to the field
  // Its header.
  Empty,
  TooShort,
  NoMagic,
  UnknownVersion,
  Version1,
  Version2,
  Version3,
  UnknownFlags,
  NotFlaggedSorted,
  StartsFromSection,
  StartsFromField,
  NoAbi,
  UnknownAbi,
  OtherAbi,
  S390x,
  ForeignOrder,  ///< big-endian: not the order of the hosts that tools run on
  FixedFp,
  OtherFixedRa,
  AuxiliaryHeader,
  NoFunctions,
  NoRows,
  RowsBeforeIndex,
  IndexOutside,
  RowsInIndex,
  HeaderAlone,  ///< that has functions
  RowsBeginOutside,
  RowsOutside,
  Gap,
  StrayBytes,
  // Its FDEs.
  NotSorted,
  EqualStarts,
  Overlap,
  FunctionRowsOutside,
  UndefinedRowType,
  ReservedBits,
  StrayKey,
  UndefinedType,  ///< of rows that have words
  NoRepeatSize,
  FunctionWithoutRows,  ///< that has bytes
  MoreRowsThanBytes,    ///< of a function
  RowCount,
  TooManyRows,
  SharedRows,
  // Its rows.
  RowNotAscending,
  RowBeyondFunction,
  RowAtEnd,
  RowBeyondBlock,
  FirstRowLate,  ///< after the start of its function
  UndefinedWordSize,
  RowOutside,
  RowTooLong,           ///< more words than any form has
  SpareWords,           ///< more than the form has
  WordsOfFixedOffsets,  ///< of a default row: more than the header's fixed offsets leave
  ReservedControlBit,
  NoWords,
  StraySignature,
  BadFlexible,
  RuleOfCfaItself,    ///< RA or FP is CFA + offset, not what is stored there
  FramePointerAtCfa,  ///< of a default row: FP is saved at CFA + 0
  NoSuchRegister,     ///< a rule counts from a register that the machine does not have
  UnusualRegister,    ///< a rule counts from a register that is neither general nor, on s390x, floating-point
  // More of the file around it.
  SegmentSize,   ///< PT_GNU_SFRAME is shorter than the section, or ends outside the PT_LOAD
  OtherSegment,  ///< another PT_GNU_SFRAME, before the last one, leads elsewhere
  CodeWithBss,   ///< memory of an executable PT_LOAD goes on after the pages of its bytes in the file
};

/// What a reader makes of a section.
struct ReaderVerdict {
  enum class Kind : std::uint8_t {
    Accepts,
    Refuses,   ///< it reports an error, or leaves the section alone
    Misreads,  ///< it does not notice that it cannot read the section: wrong rows, lost ones, or a crash
  };
  const ReaderTarget* reader = nullptr;
  Kind kind = Kind::Accepts;
  // But for Accepts:
  Fact fact{};                          ///< the first one that the reader does not support
  std::optional<std::uint64_t> offset;  ///< of the fact in .sframe, in bytes; no value if it has no place there
  std::string finding;                  ///< the fact in a clause: "it is SFrame version 3"
  std::string_view rule;                ///< what the reader does about it, without its name: "supports only version 2"
  bool helped_by_target = false;        ///< a conversion with `reader`'s format writes a section that it supports
};

/// Returns "it is SFrame version 3 (.sframe+0x2); glibc supports only version 2"; "" for Accepts.
std::string reason_of(const ReaderVerdict& verdict);

/// A file, or a member of an archive.
struct CheckedSection {
  std::string name;  ///< "libfoo.a(bar.o)"
  std::vector<ReaderVerdict> verdicts;
};

/// Calls `visit` for the file, or for each member of an archive that has the section; then `failed` for members that
/// are not sound ELF files. A damaged section is a matter of verdicts. Without `readers`, all that read files of this
/// kind are asked: linkers read objects, others linked files. Throws Failure; Refused if there is no .sframe.
void check_readers(const std::filesystem::path& file, std::span<const ReaderTarget* const> readers,
                   const std::function<void(const CheckedSection&)>& visit,
                   const std::function<void(const Failure&)>& failed);

}  // namespace sframe_gen

SFRAME_GEN_END_CXX
