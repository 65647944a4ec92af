#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sframe_gen/verdicts.hpp"

namespace sframe_gen::readers {

/// What readers judge a section by. None is wrong in itself: what one reader refuses another needs.
enum class Fact : std::uint8_t {
  // The file around it.
  NoSegment,               ///< no PT_GNU_SFRAME leads to it
  NotLoaded,               ///< not in one readable PT_LOAD
  SeveralCodes,            ///< functions in several executable segments
  OutsideCode,             ///< a function in none
  CodeBeforeItsFunctions,  ///< an executable segment does not begin with a function, and another one has earlier ones
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
  ZeroReturnAddress,  ///< of a default row on AArch64: the word of RA is 0
  NoSuchRegister,     ///< a rule counts from a register that the machine does not have
  UnusualRegister,    ///< a rule counts from a register that is neither general nor, on s390x, floating-point
  // More of the file around it.
  SegmentSize,   ///< PT_GNU_SFRAME is shorter than the section, or ends outside the PT_LOAD
  OtherSegment,  ///< another PT_GNU_SFRAME, before the last one, leads elsewhere
  CodeWithBss,   ///< memory of an executable PT_LOAD goes on after the pages of its bytes in the file
};

struct Finding {
  Fact fact{};
  std::uint64_t offset = no_offset;  ///< in the section
  std::string text;                  ///< a clause: "its index is not flagged as sorted"

  static constexpr std::uint64_t no_offset = ~std::uint64_t{0};
};

/// The first of each fact, in the order of the section.
class Findings {
 public:
  void add(Fact fact, std::uint64_t offset, std::string text) {
    if (find(fact) == nullptr) findings_.push_back({fact, offset, std::move(text)});
  }
  void add(Fact fact, std::string text) { add(fact, Finding::no_offset, std::move(text)); }

  const Finding* find(Fact fact) const {
    for (const Finding& finding : findings_)
      if (finding.fact == fact) return &finding;
    return nullptr;
  }
  bool has(Fact fact) const { return find(fact) != nullptr; }

 private:
  std::vector<Finding> findings_;
};

}  // namespace sframe_gen::readers
