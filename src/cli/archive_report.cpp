#include "cli/archive_report.hpp"

#include <algorithm>
#include <ostream>
#include <utility>

#include "cli/report_text.hpp"
#include "support/text.hpp"

namespace sframe_gen::cli {

namespace {

/// Without the advice that some reasons end in.
std::string short_form(const std::string& why_not) {
  return why_not.substr(0, why_not.find("; "));
}

/// In the order in which they first occur.
std::vector<std::pair<std::string, std::uint64_t>> reasons_of(const ArchiveReport& report) {
  std::vector<std::pair<std::string, std::uint64_t>> reasons;
  for (const MemberReport& member : report.members) {
    if (member.converted) continue;
    const std::string reason = short_form(member.why_not);
    const auto known = std::ranges::find(reasons, reason, &std::pair<std::string, std::uint64_t>::first);
    if (known == reasons.end()) {
      reasons.emplace_back(reason, 1);
    } else {
      ++known->second;
    }
  }
  return reasons;
}

}  // namespace

void write_summary(const ArchiveReport& report, std::ostream& out) {
  const auto converted =
      std::ranges::count_if(report.members, [](const MemberReport& m) { return m.converted.has_value(); });
  std::string text = report.file + ": " + std::to_string(converted) + " of " +
                     count_of(report.members.size(), "member") + " converted";
  const char* separator = " left alone (";
  if (const auto reasons = reasons_of(report); !reasons.empty()) {
    text += ", " + std::to_string(report.members.size() - static_cast<std::size_t>(converted));
    for (const auto& [reason, count] : reasons) {
      text += separator + std::to_string(count) + ' ' + reason;
      separator = ", ";
    }
    text += ')';
  }
  if (converted == 0) {
    out << printable(text) << '\n';
    return;
  }
  Report sum;
  sum.file = text;
  for (const MemberReport& member : report.members)
    if (member.converted) sum.append(*member.converted);
  write_summary(sum, out);
}

void write_details(const ArchiveReport& report, std::ostream& out) {
  for (const MemberReport& member : report.members) {
    if (!member.converted) {
      out << printable(report.file + '(' + member.name + "): left alone: " + member.why_not) << '\n';
      continue;
    }
    write_summary(*member.converted, out);
    write_details(*member.converted, out);
  }
}

}  // namespace sframe_gen::cli
