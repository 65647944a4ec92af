#pragma once

#include <functional>
#include <iosfwd>
#include <string>
#include <utility>
#include <vector>

#include "cli/report/text.hpp"
#include "sframe_gen/check.hpp"
#include "sframe_gen/code_check.hpp"
#include "sframe_gen/convert.hpp"
#include "sframe_gen/section.hpp"
#include "sframe_gen/verify.hpp"

namespace sframe_gen::cli {

/// What is known of a descriptor but from its section.
struct DescribedFunction {
  std::string symbol;   ///< empty: none
  std::string section;  ///< of an object, where it starts: ".text+0x10"; else empty
};

/// A section as one JSON object on one line: header, descriptors, rows. Addresses are strings in hex, as JSON's numbers
/// lose bits; registers are DWARF's numbers. Of the descriptors those that are `wanted`.
void write_json(const std::string& file, const FileSection& section,
                const std::function<bool(const sframe::Fde&)>& wanted,
                const std::function<DescribedFunction(const sframe::Fde&)>& describe, std::ostream& out);

// One JSON object on one line for each file. Keys keep their order; addresses are strings in hex, as JSON's numbers
// lose bits.

/// Plans are named where there are any. An archive has an object for each member in "members".
void write_json(const std::string& file, const std::string& output, const ConvertOutcome& outcome,
                const std::vector<TriedPlan>& plans, std::ostream& out);
void write_json(const std::string& file, const std::string& output, const EmitOutcome& emitted, std::ostream& out);
void write_json(const std::string& file, const std::string& output, const RemoveOutcome& removed, std::ostream& out);
void write_json(const std::string& file, const CodeCheck& result, std::ostream& out);
void write_json(const std::string& file, const Verification& result, std::ostream& out);
void write_json(const std::string& file, const std::vector<MemberVerification>& members, std::ostream& out);
void write_json(const CheckedSection& checked, std::ostream& out);
/// A file that "failed", or was "refused" and passed over. `error` may begin with the file's name, which is not
/// repeated. `keeps_section`: it has a section and no original to restore.
void write_json_failure(const std::string& file, const std::string& status, const std::string& error, std::ostream& out,
                        const std::vector<TriedPlan>& plans = {}, bool keeps_section = false);

/// {"total": {…}} of a run: numbers, by how much files grew, how often each reason came, and the code that was counted.
void write_json_total(const std::vector<std::pair<std::string, std::uint64_t>>& numbers, std::int64_t growth,
                      const ReasonCounts& reasons, const CodeCount& code, std::ostream& out);

}  // namespace sframe_gen::cli
