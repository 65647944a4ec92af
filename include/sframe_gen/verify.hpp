#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "sframe_gen/convert.hpp"
#include "sframe_gen/visibility.h"

SFRAME_GEN_BEGIN_CXX

/// Holds sections against the DWARF they were made from.
namespace sframe_gen {

struct Difference {
  std::uint64_t pc;
  std::string text;  ///< "pc 0x2030: .sframe says …, DWARF says …"
};

struct Verification {
  std::uint64_t functions = 0;          ///< descriptors in .sframe
  std::uint64_t rows = 0;               ///< in .sframe
  std::uint64_t checked_pcs = 0;        ///< at which both sides were computed
  std::uint64_t described_bytes = 0;    ///< code that some FDE describes
  std::uint64_t claimed_bytes = 0;      ///< code that some row of .sframe covers
  std::uint64_t padding_bytes = 0;      ///< between functions, that rows go on over: nothing a program runs
  std::uint64_t left_out_rows = 0;      ///< stretches that an FDE describes and no row covers
  std::uint64_t difference_count = 0;   ///< wrong rows, by stretch
  std::uint64_t unchecked_count = 0;    ///< rows whose FDE libdwarf cannot evaluate, or is known to misread
  std::vector<Difference> differences;  ///< the first of them
  std::vector<Difference> unchecked;    ///< each of these FDEs once, at its first row: which it is, and why

  /// For another section: a file may have .sframe and .ctf_frame, an archive has members.
  Verification& operator+=(const Verification& other);
};

/// Checks every row of a linked file's or object's sections, PC by PC, against libdwarf's evaluation of its call frame
/// information. Throws Failure (error.hpp).
Verification verify_file(const std::filesystem::path& file, const std::optional<std::filesystem::path>& debug_file = {},
                         bool ignore_build_id = false, const Observer& observer = {});

/// A member of an archive.
struct MemberVerification {
  std::string name;  ///< "libfoo.a(bar.o)"
  Verification result;
  std::string failure;  ///< why it could not be checked: "libfoo.a(bar.o): …"; else empty
};

/// The same for each member with a section. Throws Refused where there is none.
std::vector<MemberVerification> verify_archive(const std::filesystem::path& archive, const Observer& observer = {});

/// All of it added up.
Verification sum_of(const std::vector<MemberVerification>& members);

}  // namespace sframe_gen

SFRAME_GEN_END_CXX
