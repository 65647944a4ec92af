#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "sframe_gen/visibility.h"

SFRAME_GEN_BEGIN_CXX

/// What the steps of a conversion count. Coverage (coverage.hpp) has them all.
namespace sframe_gen {

/// The size of a compact section, and most of what made it smaller than the default. The rest of the difference is in
/// starts of rows, and rows that several FDEs share.
struct Compaction {
  std::uint64_t default_bytes = 0;        ///< the section as it would be without --compact
  std::uint64_t default_descriptors = 0;  ///< FDEs of that section
  std::uint64_t default_rows = 0;
  std::uint64_t bytes = 0;                ///< the section
  std::int64_t by_fewer_descriptors = 0;  ///< functions that share an FDE, minus long ones that are cut
  std::int64_t by_fewer_rows = 0;         ///< rules that go on from one function to the next, minus flexible forms

  Compaction& operator+=(const Compaction& other);
};

/// Code whose rows come from its own instructions: stubs of procedure linkage tables (PLTs), and a program's first and
/// last code.
struct StubCoverage {
  std::uint64_t entries = 0;            ///< stubs
  std::uint64_t bytes = 0;              ///< of their code
  std::uint64_t bytes_without_cfi = 0;  ///< of these, bytes that no FDE describes
};

/// Code that the function table of Go's linker describes.
struct GoCoverage {
  std::uint64_t functions = 0;
  std::uint64_t bytes = 0;     ///< of code
  std::uint64_t replaced = 0;  ///< FDEs that describe the same code, which do not count
};

/// Code without CFI whose rows come from a proof of its instructions (ConvertOptions::synthesize).
struct SynthesisCoverage {
  /// A function that was found in such code.
  struct Function {
    std::uint64_t start = 0;         ///< virtual address
    std::string evidence;            ///< how its start is known: "called"
    bool reads_by_contents = false;  ///< a jump table of it has no bound, and was read by its contents
    std::string refusal;             ///< why it has no rows: "no-return"; empty: it is proved
    std::uint64_t refused_at = 0;    ///< PC of the instruction
  };
  std::uint64_t functions = 0;    ///< that are proved
  std::uint64_t by_contents = 0;  ///< of these, with a jump table that was read without a bound
  std::uint64_t bytes = 0;        ///< of code that has rows
  std::uint64_t rows = 0;
  std::map<std::string, std::uint64_t> refused;  ///< functions, by reason
  std::vector<Function> found;                   ///< by address; if code is counted
};

}  // namespace sframe_gen

SFRAME_GEN_END_CXX
