#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sframe_gen/counts.hpp"
#include "sframe_gen/format.hpp"
#include "sframe_gen/reasons.hpp"
#include "sframe_gen/visibility.h"

SFRAME_GEN_BEGIN_CXX

/// How much of a file's call frame information (CFI) a section represents, and why not the rest.
namespace sframe_gen {

/// Returns a stable name for data: "cfa-is-expression"; "unknown" for a reason that this version does not know.
std::string_view key_of(Unrepresentable reason);
/// Returns a clause for people: "CFA is a DWARF expression, which SFrame cannot represent".
std::string_view sentence_of(Unrepresentable reason);

/// The same, with names for people.
struct NamedCoverageHole {
  CoverageHole hole;     ///< PCs count from the section's start where one is named
  std::string function;  ///< empty: no symbol names it
  std::string section;   ///< of an object, whose code has no addresses yet; else empty
};

/// PCs of a stub for which the CFI contradicts the instructions, which are right.
struct StubContradiction {
  std::uint64_t begin = 0, end = 0;  ///< virtual addresses
  std::string function;              ///< empty: no symbol names it
  std::string instructions, cfi;     ///< "CFA rsp+8, RA *(CFA-8)"
};

/// Returns ".eh_frame", ".debug_frame", ".gopclntab", "instructions" or "proved instructions"; "unknown" for a source
/// that this version does not know.
std::string_view name_of(RowSource source);

/// Bytes of code in a place, and how many of them no CFI describes. Padding between functions is counted apart.
struct CodeCount {
  std::uint64_t bytes = 0;
  std::uint64_t padding = 0;
  std::uint64_t without_cfi = 0;  ///< bytes that no FDE describes
  std::uint64_t without_row = 0;  ///< bytes that no row covers

  CodeCount& operator+=(const CodeCount& other);
};

/// All code of a file, by the sections that it is in.
struct CodeCoverage {
  struct Section {
    std::string name;
    CodeCount count;
  };
  /// Code without CFI or rows, of one function or between functions.
  struct Place {
    std::string section;
    std::string function;              ///< empty: no symbol names it
    std::uint64_t begin = 0, end = 0;  ///< virtual addresses; in an object they count from the section's start
    std::uint64_t without_cfi = 0, without_row = 0;
  };
  /// What rows are made from.
  struct Described {
    std::uint64_t records = 0;  ///< FDEs, functions of Go's table, or stubs
    std::uint64_t bytes = 0;    ///< of code that has rows
  };

  CodeCount all;
  std::vector<Section> sections;           ///< in the file's order
  std::vector<Place> places;               ///< ascending within a section
  std::map<RowSource, Described> sources;  ///< those that have rows
  /// Bytes that no row covers, by reason, if rows were made of proved instructions: the key of an Unrepresentable where
  /// CFI describes the code, else why its function is refused or its place has no row, or "not-reached".
  std::map<std::string, std::uint64_t, std::less<>> reasons;
  /// Calls at the very end of a function that another one follows without padding. Readers that look up the return
  /// address itself find the wrong function there.
  std::uint64_t calls_at_next_function = 0;
};

struct Coverage {
  struct ReasonCount {
    std::uint64_t functions = 0;
    std::uint64_t bytes = 0;
  };

  sframe::Version version = sframe::Version::V3;
  sframe::Abi abi = sframe::Abi::Amd64;
  std::uint64_t functions = 0, whole = 0, in_part = 0, left_out = 0;
  std::uint64_t described_bytes = 0;               ///< of code, by FDEs
  std::uint64_t covered_bytes = 0;                 ///< of code, by rows
  std::map<Unrepresentable, ReasonCount> reasons;  ///< those that occur
  std::vector<NamedCoverageHole> holes;
  DroppedFdes dropped;
  StubCoverage stubs;
  GoCoverage go;
  SynthesisCoverage synthesized;
  std::vector<StubContradiction> contradictions;
  std::uint64_t default_descriptors = 0, flexible_descriptors = 0, mask_descriptors = 0, rows = 0;
  std::optional<Compaction> compaction;  ///< of a compact section
  std::optional<CodeCoverage> code;      ///< if it was asked for; not where the rows are those of a section

  /// Adds the coverage of another part of the file, or of another member of an archive. Of the dropped FDEs, only
  /// duplicates are counted by part.
  void append(const Coverage& other);
};

/// Returns a line for each reason, the number of functions first: "9 CFA is a DWARF expression".
std::vector<std::string> reasons_of(const Coverage& coverage);
/// Returns a line for each kind of dropped FDE: "9 FDEs without bytes".
std::vector<std::string> sentences_of(const DroppedFdes& dropped);

}  // namespace sframe_gen

SFRAME_GEN_END_CXX
