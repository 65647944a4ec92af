
#include "sframe_gen/view.hpp"
#include "unwind/facts.hpp"
#include "unwind/header_view.hpp"
#include "unwind/section_check.hpp"

namespace sframe_gen::sframe {

ViewFault SectionView::open(std::span<const std::byte> bytes, std::uint64_t address, Family family,
                            ViewCheck check) noexcept {
  fields_ = {};
  HeaderView header;
  if (const ViewFault fault = read_header(bytes, address, family, header)) return fault;
  if (check == ViewCheck::Everything) {
    if (const ViewFault fault = check_section(bytes, header)) return fault;
  }
  fields_ = header.fields;
  return {};
}

const char* text_of(ViewProblem problem) noexcept {
  switch (problem) {
    case ViewProblem::None:
      return "sound";
    case ViewProblem::TooShort:
      return "it is shorter than its header";
    case ViewProblem::NoMagic:
      return "it has not the magic number";
    case ViewProblem::UnknownVersion:
      return "its version is not known";
    case ViewProblem::UnknownFlags:
      return "it has flags that its version does not define";
    case ViewProblem::WrongAbi:
      return "its ABI is not known, or of the other byte order";
    case ViewProblem::WrongFixedOffset:
      return "a fixed offset is not its ABI's";
    case ViewProblem::OutsideSection:
      return "a part of it lies outside, or over another";
    case ViewProblem::TooManyRows:
      return "it claims more rows than any program has";
    case ViewProblem::StrayBytes:
      return "it has bytes that belong to neither the index nor the rows";
    case ViewProblem::OutsideAddressSpace:
      return "a function lies outside the address space";
    case ViewProblem::WrongFunctionInfo:
      return "a function's info is not defined";
    case ViewProblem::WrongRepeatSize:
      return "a function's repeat size contradicts its type";
    case ViewProblem::WrongRowCount:
      return "the functions do not have as many rows as the header says";
    case ViewProblem::WrongRowStart:
      return "a row starts before the one in front of it, or behind its function";
    case ViewProblem::WrongRowInfo:
      return "a row's info is not defined";
    case ViewProblem::WrongRowWords:
      return "a row's words are not defined";
    case ViewProblem::NotSorted:
      return "the index is not sorted, but flagged so";
    case ViewProblem::Overlap:
      return "two functions overlap";
  }
  return "";
}

}  // namespace sframe_gen::sframe
