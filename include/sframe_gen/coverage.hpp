#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sframe_gen/format.hpp"
#include "sframe_gen/visibility.h"

SFRAME_GEN_BEGIN_CXX

/// How much of a file's call frame information (CFI) a section represents, and why not the rest.
namespace sframe_gen {

/// Why PCs have no SFrame row. Not an error: coverage counts and names them. unrepresentable.def has the list, to which
/// later versions add.
enum class Unrepresentable : std::uint8_t {
#define SFRAME_GEN_REASON(name, key, sentence) name,
#include "sframe_gen/unrepresentable.def"
#undef SFRAME_GEN_REASON
};

/// Returns a stable name for data: "cfa-is-expression"; "unknown" for a reason that this version does not know.
std::string_view key_of(Unrepresentable reason);
/// Returns a clause for people: "CFA is a DWARF expression, which SFrame cannot represent".
std::string_view sentence_of(Unrepresentable reason);

/// PCs of a function that no row covers.
struct CoverageHole {
  std::uint64_t begin, end;  ///< virtual addresses
  Unrepresentable reason;
  friend bool operator==(const CoverageHole&, const CoverageHole&) = default;
};

/// The same, with names for people.
struct NamedCoverageHole {
  CoverageHole hole;     ///< PCs count from the section's start where one is named
  std::string function;  ///< empty: no symbol names it
  std::string section;   ///< of an object, whose code has no addresses yet; else empty
};

/// An FDE that cannot be read, so the PCs it describes are unknown.
struct UnreadableFde {
  std::string section;
  std::uint64_t offset = 0;  ///< in it
  std::string why;           ///< ".eh_frame+0x8: CIE version is 2, not 1, 3 or 4"
};

/// Counts of FDEs that are dropped, by reason: they describe nothing the program can run, or cannot be read.
struct DroppedFdes {
  std::uint64_t empty = 0;         ///< size 0
  std::uint64_t outside_code = 0;  ///< discarded functions (start 0 or another tombstone), or beyond their section
  std::uint64_t duplicate = 0;     ///< same PCs and same rows as another FDE: counted once
  std::uint64_t shadowed = 0;      ///< .debug_frame for PCs that .eh_frame describes
  std::uint64_t of_go = 0;       ///< of Go's linker, which are wrong, for PCs that its function table does not tell of
  std::uint64_t unreadable = 0;  ///< those of a CIE that cannot be read, and damaged ones
  std::vector<UnreadableFde> named_unreadable = {};  ///< the first of them
};

/// The size of a compact section, and what made it smaller than the default. The parts add up to the difference.
struct Compaction {
  std::uint64_t default_bytes = 0;        ///< the section as it would be without --compact
  std::uint64_t default_descriptors = 0;  ///< FDEs of that section
  std::uint64_t default_rows = 0;
  std::uint64_t bytes = 0;                ///< the section
  std::int64_t by_fewer_descriptors = 0;  ///< functions that share an FDE, minus long ones that are cut
  std::int64_t by_fewer_rows = 0;         ///< rules that go on from one function to the next, minus flexible forms
  std::int64_t by_row_starts = 0;         ///< narrower ones, minus wider ones, and those of the rows that are gone
  std::int64_t by_sharing = 0;            ///< rows that several FDEs share
  std::uint64_t least_bytes = 0;          ///< a lower bound: no choice among the same cuts is smaller

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

/// PCs of a stub for which the CFI contradicts the instructions, which are right.
struct StubContradiction {
  std::uint64_t begin = 0, end = 0;  ///< virtual addresses
  std::string function;              ///< empty: no symbol names it
  std::string instructions, cfi;     ///< "CFA rsp+8, RA *(CFA-8)"
};

/// What the rows of some code are made from.
enum class RowSource : std::uint8_t {
  EhFrame,       ///< CFI in .eh_frame
  DebugFrame,    ///< CFI in .debug_frame
  GoTable,       ///< the function table of Go's linker, .gopclntab, with the instructions
  Instructions,  ///< the instructions alone: stubs
  Proof,         ///< the instructions alone: functions, each followed on every path
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
  /// Code between whose first and last row all rows have one source.
  struct Stretch {
    std::string section;
    std::uint64_t begin = 0, end = 0;  ///< as in Place
    RowSource source = RowSource::EhFrame;
    Described described;
  };

  CodeCount all;
  std::vector<Section> sections;           ///< in the file's order
  std::vector<Place> places;               ///< ascending within a section
  std::map<RowSource, Described> sources;  ///< those that have rows
  std::vector<Stretch> stretches;          ///< ascending within a section
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
