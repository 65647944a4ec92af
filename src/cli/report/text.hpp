#pragma once

#include <cstdint>
#include <iosfwd>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sframe_gen/check.hpp"
#include "sframe_gen/code_check.hpp"
#include "sframe_gen/convert.hpp"
#include "sframe_gen/verify.hpp"

namespace sframe_gen::cli {

/// How often each reason came, in the order in which they first came.
using ReasonCounts = std::vector<std::pair<std::string, std::uint64_t>>;
void add_reason(ReasonCounts& reasons, const std::string& reason);

/// How much code of files has rows, and which of them lack most.
class CodeShares {
 public:
  void add(const std::string& file, const CodeCount& code);
  const CodeCount& all() const { return all_; }
  /// "  98.7 % of 12 MiB of code has rows", the files that lack most if there are any, and what to do about them.
  /// Nothing if no code was counted.
  void write(std::ostream& out) const;

 private:
  struct Lacking {
    std::string file;
    CodeCount code;
  };

  CodeCount all_;
  std::vector<Lacking> most_;  ///< the most first
};

/// Without the file's name, if `text` begins with it: "FILE: WHAT" becomes "WHAT".
std::string without_name(const std::string& file, std::string text);

/// Returns the coverage of all converted members, or nothing if there are none.
std::optional<Coverage> sum_of(const ArchiveOutcome& archive);

std::size_t converted_count(const ArchiveOutcome& archive);

// What readers make of a section.

/// A line a reader:
///
///     a.out: kernel accepts it
///     a.out: glibc refuses it: it is SFrame version 3 (.sframe+0x2); glibc supports only version 2 (convert with
///     --for=glibc)
///
/// `quiet`: those that do not accept.
void write_verdicts(const CheckedSection& checked, bool quiet, std::ostream& out);

/// "refuses"
const char* name_of(ReaderVerdict::Kind kind);
/// "--for=glibc", if that helps; else empty.
std::string option_of(const ReaderVerdict& verdict);

// What people read. A summary is one line and names the file; details follow it.

/// Whether files were written, or would be without --dry-run.
enum class Done : std::uint8_t { Really, Would };

/// "git: added .sframe (381 KiB, the file grew by 384 KiB): 5892 functions, all covered"; "libc.so.6: added …: 3812
/// functions: 3790 fully covered, 12 partly, 10 not (9 CFA is a DWARF expression …)"; of an archive "libfoo.a: added
/// .sframe to 9 of 12 members, not to 3 (3 not an ELF file), the file grew by 3 KiB: 345 functions, all covered".
void write_summary(const std::string& file, const ConvertOutcome& outcome, Done done, std::ostream& out);
void write_summary(const std::string& file, const EmitOutcome& emitted, Done done, std::ostream& out);
/// "a.out: removed .sframe, restored the original (16384 bytes, was 20480)".
void write_summary(const std::string& file, const RemoveOutcome& removed, Done done, std::ostream& out);
/// What the comparison of a file's CFI with its code has found; if asked for, also each refused function, and each jump
/// table that was read by its contents.
void write_summary(const std::string& file, const CodeCheck& result, bool with_details, std::ostream& out);
/// A line for each cause, with the first contradiction of it, or for each contradiction: "f: pc 0x10 to 0x18: CFI has
/// CFA rsp+8, but that is CFA-16 (0xc: sub rsp, 0x18), and 7 more of this kind".
std::vector<std::string> lines_of(const std::vector<CodeCheck::Contradiction>& found, bool lists_each);

/// "libc.so: 3714 FDEs, 24964 rows, 45267 PCs checked: no difference; 4 gaps".
void write_summary(const std::string& file, const Verification& result, std::ostream& out);
/// "libfoo.a: 9 members: 3714 FDEs …".
void write_summary(const std::string& file, const std::vector<MemberVerification>& members, std::ostream& out);

/// Each function left out, what was dropped, and the plan of the rewrite; each member as a file of its own.
void write_details(const std::string& file, const ConvertOutcome& outcome, std::ostream& out);
void write_details(const EmitOutcome& emitted, std::ostream& out);

/// What made a compact section smaller; nothing for another.
void write_savings(const ConvertOutcome& outcome, std::ostream& out);
/// Writes what a proof of the instructions has said: PCs whose rows were left out, and each function without CFI.
void write_proof(const ConvertOutcome& outcome, std::ostream& out);
/// Writes a line about code without CFI, with the largest gaps.
void write_code(const CodeCoverage& code, std::ostream& out);
/// The same by section, and every place.
void write_code_places(const ConvertOutcome& outcome, std::ostream& out);
/// One line for each plan, the cheapest first.
void write_plans(const std::vector<TriedPlan>& plans, std::ostream& out);

}  // namespace sframe_gen::cli
