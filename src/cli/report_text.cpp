#include "cli/report_text.hpp"

#include <ostream>
#include <string_view>
#include <utility>

#include "support/text.hpp"

namespace sframe_gen::cli {

namespace {

/// "9 CFA is a DWARF expression …", the number of functions first.
std::vector<std::string> reasons_of(const Report& report) {
  std::vector<std::string> reasons;
  for (std::size_t i = 0; i < report.reasons.size(); ++i) {
    if (report.reasons[i].functions == 0) continue;
    reasons.push_back(std::to_string(report.reasons[i].functions) + ' ' +
                      std::string(emit::sentence_of(static_cast<emit::Unrepresentable>(i))));
  }
  return reasons;
}

/// "9 FDEs without bytes", for each kind of FDE that gives no function.
std::vector<std::string> dropped_of(const cfi::DroppedEntries& dropped) {
  const std::pair<std::uint64_t, const char*> kinds[] = {
      {dropped.empty, " without bytes"},
      {dropped.outside_code, " of discarded or no code"},
      {dropped.duplicate, " said twice"},
      {dropped.shadowed, " of .debug_frame for what .eh_frame describes"},
  };
  std::vector<std::string> sentences;
  for (const auto& [count, what] : kinds) {
    if (count != 0) sentences.push_back(count_of(count, "FDE") + what);
  }
  return sentences;
}

/// " (one, another)", or nothing.
std::string in_parentheses(const std::vector<std::string>& sentences) {
  std::string text;
  for (const std::string& sentence : sentences) text += (text.empty() ? " (" : ", ") + sentence;
  return text.empty() ? text : text + ')';
}

std::string_view origin_of_address(std::string_view from) {
  if (from == "option") return " (as --section-address says)";
  if (from == "section") return " (where the file has one)";
  if (from == "plan") return " (where a conversion would put it)";
  return "";
}

}  // namespace

void write_summary(const Report& report, std::ostream& out) {
  out << printable(report.file) << ": " << count_of(report.functions, "function") << ": " << report.whole << " whole, "
      << report.in_part << " in part, " << report.left_out << " left out" << in_parentheses(reasons_of(report)) << '\n';
}

std::string why_no_function(const Report& report) {
  std::vector<std::string> sentences = dropped_of(report.dropped);
  for (const std::string& reason : reasons_of(report)) sentences.push_back(reason);
  return "has no function that SFrame could describe" + in_parentheses(sentences);
}

void write_summary(const Removal& removal, std::ostream& out) {
  out << printable(removal.file) << ": " << removal.section << " removed, " << removal.original_size
      << " bytes as before, were " << removal.converted_size << '\n';
}

void write_plans(const std::vector<elf::Trial>& plans, std::ostream& out) {
  for (const elf::Trial& plan : plans) {
    out << (plan.taken      ? "  taken: "
            : plan.possible ? "  would do: "
                            : "  impossible: ")
        << plan.plan << ": " << printable(plan.outcome) << '\n';
  }
}

void write_details(const Report& report, std::ostream& out) {
  for (const NamedHole& named : report.holes) {
    out << "  " << printable(named.section) << (named.section.empty() ? "" : "+") << hex(named.hole.begin) << ".."
        << hex(named.hole.end) << ' ' << (named.function.empty() ? "(no symbol)" : printable(named.function)) << ": "
        << emit::sentence_of(named.hole.reason) << '\n';
  }
  for (const std::string& sentence : dropped_of(report.dropped)) out << "  dropped: " << sentence << '\n';
  out << "  .sframe: " << hex(report.section_size) << " bytes";
  if (!report.is_object) out << " at " << hex(report.section_address) << origin_of_address(report.address_from);
  out << ", " << count_of(report.rows, "row") << ", descriptors: " << report.default_descriptors << " default, "
      << report.flexible_descriptors << " flexible, " << report.mask_descriptors << " repeating\n";
  if (report.is_object || !report.address_from.empty()) return;
  if (report.reserved_size != 0) {
    out << "  fills " << hex(report.reserved_size) << " bytes that were reserved; nothing else changes\n";
    return;
  }
  out << "  plan " << report.section_plan << '+' << report.table_plan << ", file grows by " << report.growth
      << " bytes";
  for (const std::string& name : report.evicted) out << ", " << printable(name) << " moved";
  if (report.build_id_moved) out << ", build-id left the first page (older kernels look for it only there)";
  out << '\n';
}

}  // namespace sframe_gen::cli
