#pragma once

#include <iosfwd>
#include <string>
#include <vector>

#include "cli/archive_report.hpp"
#include "cli/report.hpp"
#include "cli/verify_report.hpp"
#include "elf/plan/layout.hpp"
#include "verify/verify.hpp"

namespace sframe_gen::cli {

/// One JSON object on one line. Keys keep their order; addresses are strings in hex, as JSON's numbers lose bits. Plans
/// are named where there are any.
void write_json(const Report& report, std::ostream& out, const std::vector<elf::Trial>& plans = {});
/// One object for the archive, with one for each member in "members".
void write_json(const ArchiveReport& report, std::ostream& out);
void write_json(const Removal& removal, std::ostream& out);
void write_json(const std::string& file, const verify::Verification& result, std::ostream& out);
void write_json(const std::string& file, const std::vector<MemberVerification>& members, std::ostream& out);
/// A file that "failed", or was "refused" and passed over.
void write_json_failure(const std::string& file, const std::string& status, const std::string& error, std::ostream& out,
                        const std::vector<elf::Trial>& plans = {});

}  // namespace sframe_gen::cli
