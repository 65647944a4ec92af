#pragma once

#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

#include "cli/report.hpp"

namespace sframe_gen::cli {

/// What became of one member of an archive.
struct MemberReport {
  std::string name;
  std::optional<Report> converted;
  std::string why_not;  ///< where it was left alone: "is not an ELF file"
};

struct ArchiveReport {
  std::string file, output;
  bool is_thin = false;
  std::vector<MemberReport> members;
  std::int64_t growth = 0;  ///< bytes of the archive; if it is thin, of its members' files
};

/// "libfoo.a: 9 of 12 members converted, 3 left alone (3 is not an ELF file): 345 functions: 340 whole …".
void write_summary(const ArchiveReport& report, std::ostream& out);

/// After the summary: each member as a file of its own would be reported.
void write_details(const ArchiveReport& report, std::ostream& out);

}  // namespace sframe_gen::cli
