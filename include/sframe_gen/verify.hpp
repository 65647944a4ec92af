#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "sframe_gen/convert.hpp"
#include "sframe_gen/visibility.h"

SFRAME_GEN_BEGIN_CXX

/// Compares sections with the call frame information (CFI) that they were made from.
namespace sframe_gen {

/// What a comparison has found.
struct Verification {
  /// What rows are compared with.
  enum class Witness : std::uint8_t {
    Dwarf,         ///< the call frame information, as libdwarf evaluates it
    Instructions,  ///< those of a stub, followed one by one
    GoTable,       ///< the function table of Go's linker
  };

  /// A range of code whose row is wrong, or cannot be checked; or a program header that is wrong.
  struct Difference {
    enum class Kind : std::uint8_t {
      Caller,       ///< `found` and `expected` lead to different callers
      SignalFrame,  ///< one side marks a signal frame, the other does not
      NoFde,        ///< there is a row, but no FDE describes the code: unchecked if `expected` has the reason
      NotCode,      ///< the row's function is not in code
      NoCaller,     ///< there is a row, but the witness cannot tell the caller: `expected` has the reason
      Unchecked,    ///< libdwarf cannot evaluate the call frame information: `expected` has the reason
      Segment,      ///< PT_GNU_SFRAME leads elsewhere (`found`) than to the section (`expected`)
    };
    std::uint64_t pc = 0;  ///< virtual address, where the range begins; of Kind::Segment, where the segment begins
    Kind kind = Kind::Caller;
    Witness witness = Witness::Dwarf;  ///< of Kind::Caller, SignalFrame and NoCaller
    bool is_signal_frame = false;      ///< of Kind::SignalFrame: according to .sframe
    std::uint64_t size = 0;            ///< of Kind::NotCode: bytes of the function
    std::string found = {};            ///< of Kind::Caller, what .sframe has: "CFA rsp+16, RA *(CFA-8)"
    std::string expected = {};
    std::string section = ".sframe";  ///< that has the row, or ".ctf_frame"
  };

  std::uint64_t functions = 0;          ///< FDEs in .sframe
  std::uint64_t rows = 0;               ///< in .sframe
  std::uint64_t checked_pcs = 0;        ///< at which both sides were computed
  std::uint64_t described_bytes = 0;    ///< code that some FDE describes
  std::uint64_t claimed_bytes = 0;      ///< code that some row of .sframe covers
  std::uint64_t padding_bytes = 0;      ///< between functions, covered by their rows: code that never runs
  std::uint64_t left_out_rows = 0;      ///< ranges that an FDE describes and no row covers
  std::uint64_t difference_count = 0;   ///< ranges with wrong rows
  std::uint64_t unchecked_count = 0;    ///< rows whose FDE is missing, or libdwarf cannot evaluate or misreads it
  std::vector<Difference> differences;  ///< the first of them
  std::vector<Difference> unchecked;    ///< each of these FDEs once, at its first row; one for all that are missing

  /// Adds another section's: a file may have .sframe and .ctf_frame, and an archive has members.
  Verification& operator+=(const Verification& other);
};

/// Returns "pc 0x2030: .sframe says CFA rsp+16, …; DWARF says CFA rsp+24, …".
std::string text_of(const Verification::Difference& difference);

/// Compares every row of a linked file's or object's sections, PC by PC, with libdwarf's evaluation of its CFI. Throws
/// Failure (error.hpp).
Verification verify_file(const std::filesystem::path& file, const std::optional<std::filesystem::path>& debug_file = {},
                         bool ignore_build_id = false, const WorkObserver& observer = {});

/// A member of an archive.
struct MemberVerification {
  std::string name;  ///< "libfoo.a(bar.o)"
  Verification result;
  std::string failure;  ///< why it could not be checked: "libfoo.a(bar.o): …"; else empty
};

/// Does the same for each member that has a section. Throws Refused if none has one.
std::vector<MemberVerification> verify_archive(const std::filesystem::path& archive, const WorkObserver& observer = {});

/// Adds up the results of all members.
Verification sum_of(const std::vector<MemberVerification>& members);

}  // namespace sframe_gen

SFRAME_GEN_END_CXX
