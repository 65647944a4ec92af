#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "cfi/rules.hpp"
#include "elf/image.hpp"
#include "rows/stubs/pattern.hpp"
#include "sframe_gen/format.hpp"

/// Code whose instructions say all that unwinding needs, exactly: the stubs of procedure linkage tables, and the pieces
/// that a program starts and ends with.
namespace sframe_gen::rows::stubs {

/// Stubs of one kind, one after the other.
struct StubRun {
  std::uint64_t start = 0;  ///< virtual address
  std::uint64_t size = 0;   ///< bytes, not zero and below 4 GiB
  std::uint64_t entries = 1;
  std::uint8_t repeat_size = 0;  ///< bytes after which the rows start over; 0: they do not
  std::vector<StubRow> rows;     ///< with rules; ascending, the first at offset 0; of one entry where they repeat
  std::string_view form;         ///< "GNU ld, lld"
  std::uint64_t end() const { return start + size; }
};

struct StubList {
  std::vector<StubRun> runs;    ///< ascending, disjoint
  std::vector<Range> sections;  ///< ranges where stubs stand, and nothing else; ascending, disjoint
  /// False without section headers: stubs that are not known may be anywhere then.
  bool knows_sections = true;
};

/// The stubs of a program or library, for a machine that SFrame knows. Whatever is not exactly as a linker writes it is
/// not among them.
StubList find_stubs(const elf::Image& image);

}  // namespace sframe_gen::rows::stubs
