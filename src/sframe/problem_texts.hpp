#pragma once

#include <array>

#include "sframe_gen/view.hpp"

namespace sframe_gen::sframe {

/// What is said of a problem.
struct ProblemText {
  Problem problem;
  const char* plain;  ///< for text_of()
  /// For sentence_of(). {x}, {d} and {i} are values of the fault in hexadecimal, decimal and signed, {what} is its
  /// field, {row} a value that counts rows: "1 row".
  const char* sentence;
};

/// In the order of the enumeration.
inline constexpr std::array problem_texts{
    ProblemText{Problem::None, "sound", ""},
    ProblemText{Problem::HeaderCut, "it is shorter than its header", "{what} needs {byte}, but only {left} left"},
    ProblemText{Problem::NoMagic, "it has not the magic number", "magic number is {x}, but SFrame has 0xdee2"},
    ProblemText{Problem::UnknownVersion, "its version is not known", "has version {d}, which is not known"},
    ProblemText{Problem::UnknownFlags, "it has flags that its version does not define",
                "flags {x} are not defined in {version}"},
    ProblemText{Problem::UnknownAbi, "its ABI is not known", "ABI is {x}, which is not defined in {version}"},
    ProblemText{Problem::OtherByteOrder, "its ABI has the other byte order",
                "ABI is {abi}, but the byte order is not that ABI's"},
    ProblemText{Problem::FixedFp, "it has a fixed FP offset", "fixed FP offset is {i}, not 0"},
    ProblemText{Problem::FixedRa, "its fixed RA offset is not its ABI's",
                "fixed RA offset is {i}, but the ABI's is {i}"},
    ProblemText{Problem::IndexOutside, "the index ends outside the section",
                "{FDE} at {x} end outside the section (section size {d})"},
    ProblemText{Problem::RowsInIndex, "the rows start before the index ends",
                "rows start at {x}, but the function index ends at {x}"},
    ProblemText{Problem::RowsOutside, "the rows end outside the section",
                "{byte} of rows at {x} end outside the section (section size {d})"},
    ProblemText{Problem::HostileRowCount, "it claims more rows than any program has",
                "claims {row} in {byte}, which no program has"},
    ProblemText{Problem::StrayBytes, "it has bytes that belong to neither the index nor the rows",
                "byte {x} belongs to neither the function index nor the rows"},
    ProblemText{Problem::MoreRows, "the functions have more rows than the header says",
                "number of rows is {d}, but the functions have at least {d}"},
    ProblemText{Problem::RowCount, "the functions do not have as many rows as the header says",
                "number of rows is {d}, but the functions have {d}"},
    ProblemText{Problem::TooManyRows, "the functions have more rows than any program has",
                "number of rows is {d}, but the functions claim at least {d}"},
    ProblemText{Problem::StartOutside, "a function starts outside the address space",
                "function start is {i} bytes from {x}, which is outside the address space"},
    ProblemText{Problem::EndOutside, "a function ends outside the address space",
                "function at {x} with size {x} ends outside the address space"},
    ProblemText{Problem::NotSorted, "the index is not sorted, but flagged so",
                "function at {x} comes after the one at {x}, but the index is flagged as sorted"},
    ProblemText{Problem::Overlap, "two functions overlap", "function at {x} overlaps the one from {x} to {x}"},
    ProblemText{Problem::FunctionRowsOutside, "a function's rows are outside the section's",
                "function's rows are at {x}, but the rows have only {byte}"},
    ProblemText{Problem::AttributeCut, "a function's attribute ends outside the rows",
                "{what} needs {byte}, but only {left} left"},
    ProblemText{Problem::UndefinedRowType, "a function's row type is not defined",
                "row type is {d}, which is not defined"},
    ProblemText{Problem::ReservedInfo, "a function's info has reserved bits set",
                "function info {x} has reserved bits set"},
    ProblemText{Problem::StrayKey, "a function names a signing key, which its ABI has not",
                "function info {x} names a signing key, but the ABI has none"},
    ProblemText{Problem::ReservedInfo2, "a function's info has reserved bits set",
                "function info 2 {x} has reserved bits set"},
    ProblemText{Problem::UndefinedType, "a function's type is not defined", "FDE type is {d}, which is not defined"},
    ProblemText{Problem::NoRepeatSize, "a function repeats a block of no bytes", "repeat size of a MASK function is 0"},
    ProblemText{Problem::StrayRepeatSize, "a function has a repeat size, but does not repeat",
                "repeat size is {x}, but the function does not repeat"},
    ProblemText{Problem::Padding, "a function's padding is not zero", "padding of the FDE is not zero"},
    ProblemText{Problem::TooFewRowBytes, "a function's rows end outside the section's",
                "{row} need at least {byte}, but only {left} left"},
    ProblemText{Problem::RowCut, "a row ends outside the section's rows", "{what} needs {byte}, but only {left} left"},
    ProblemText{Problem::RowNotAscending, "a row does not start after the row before it",
                "row starts at {x}, not after the row before it, which starts at {x}"},
    ProblemText{Problem::RowBeyondFunction, "a row starts after its function's end",
                "row starts at {x}, but the function's size is {x}"},
    ProblemText{Problem::RowAtEnd, "a row starts at its function's end",
                "row starts at {x}, but the function's size is {x}"},
    ProblemText{Problem::RowBeyondBlock, "a row starts after the repeated block",
                "row starts at {x}, but the repeated block's size is {x}"},
    ProblemText{Problem::UndefinedWordSize, "the size of a row's data words is not defined",
                "size of data words is {d}, which is not defined"},
    ProblemText{Problem::ReservedRowBit, "a row's info has the reserved bit set",
                "row info {x} has the reserved bit set"},
    ProblemText{Problem::StraySignature, "a row has a signed RA, which its ABI has not",
                "row info {x} says that the RA is signed, but the ABI signs none"},
    ProblemText{Problem::NoWords, "a row has no data words, which its version does not define",
                "row has no data words, which {version} does not define"},
    ProblemText{Problem::SpareWords, "a row has more data words than a default FDE's",
                "row has {data word}, but a default FDE has 1 to {d}"},
    ProblemText{Problem::CfaOverflow, "a row's CFA offset does not fit in 32 bits",
                "CFA offset {i} does not fit in 32 bits"},
    ProblemText{Problem::OddOffset, "a row's offset is odd, but names no register",
                "offset {i} is odd, but names no register"},
    ProblemText{Problem::ReservedControlBit, "a row's control word has the reserved bit set",
                "{what} control word {x} has the reserved bit set"},
    ProblemText{Problem::StrayRegister, "a row's control word names a register, but is not based on one",
                "{what} control word {x} names a register, but is not based on one"},
    ProblemText{Problem::NoOffsetWord, "a row's control word has no offset word after it",
                "{what} control word {x} has no offset word after it"},
    ProblemText{Problem::NoCfaRegister, "a flexible row's CFA has no base register",
                "CFA rule of a flexible row has no base register"},
    ProblemText{Problem::WordsLeftOver, "a flexible row has data words after its rules",
                "{data word} left over after the rules of a flexible row"},
    ProblemText{Problem::EndsInPadding, "a flexible row ends in a padding word", "flexible row ends in a padding word"},
};

/// Returns the text of a problem, which a caller in C may have made up.
constexpr const ProblemText& text_for(Problem problem) {
  const auto number = static_cast<std::size_t>(problem);
  return problem_texts[number < problem_texts.size() ? number : 0];
}

static_assert([] {
  for (std::size_t i = 0; i < problem_texts.size(); ++i)
    if (problem_texts[i].problem != static_cast<Problem>(i)) return false;
  return problem_texts.back().problem == Problem::EndsInPadding;
}());

}  // namespace sframe_gen::sframe
