#include "cli/report_text.hpp"

#include <ostream>
#include <string_view>

#include "support/text.hpp"

namespace sframe_gen::cli {

namespace {

void write_reasons(const Report& report, std::ostream& out) {
  const char* separator = " (";
  for (std::size_t i = 0; i < report.reasons.size(); ++i) {
    if (report.reasons[i].functions == 0) continue;
    out << separator << report.reasons[i].functions << ' ' << emit::sentence_of(static_cast<emit::Unrepresentable>(i));
    separator = ", ";
  }
  if (*separator == ',') out << ')';
}

void write_count(const char* what, std::uint64_t count, std::ostream& out) {
  if (count != 0) out << "  " << count_of(count, "FDE") << ' ' << what << '\n';
}

std::string_view origin_of_address(std::string_view from) {
  if (from == "option") return " (as --section-address says)";
  if (from == "section") return " (where the file has one)";
  if (from == "plan") return " (where a conversion would put it)";
  return "";
}

}  // namespace

void write_summary(const Report& report, std::ostream& out) {
  out << report.file << ": " << count_of(report.functions, "function") << ": " << report.whole << " whole, "
      << report.in_part << " in part, " << report.left_out << " left out";
  write_reasons(report, out);
  out << '\n';
}

void write_summary(const Removal& removal, std::ostream& out) {
  out << removal.file << ": " << removal.section << " removed, " << removal.original_size << " bytes as before, were "
      << removal.converted_size << '\n';
}

void write_plans(const std::vector<elf::Trial>& plans, std::ostream& out) {
  for (const elf::Trial& plan : plans) {
    out << (plan.taken      ? "  taken: "
            : plan.possible ? "  would do: "
                            : "  impossible: ")
        << plan.plan << ": " << plan.outcome << '\n';
  }
}

void write_details(const Report& report, std::ostream& out) {
  for (const NamedHole& named : report.holes) {
    out << "  " << named.section << (named.section.empty() ? "" : "+") << hex(named.hole.begin) << ".."
        << hex(named.hole.end) << ' ' << (named.function.empty() ? "(no symbol)" : named.function) << ": "
        << emit::sentence_of(named.hole.reason) << '\n';
  }
  write_count("without bytes dropped", report.dropped.empty, out);
  write_count("of discarded or no code dropped", report.dropped.outside_code, out);
  write_count("said twice, counted once", report.dropped.duplicate, out);
  write_count("of .debug_frame dropped for .eh_frame's", report.dropped.shadowed, out);
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
  for (const std::string& name : report.evicted) out << ", " << name << " moved";
  if (report.build_id_moved) out << ", build-id left the first page (older kernels look for it only there)";
  out << '\n';
}

}  // namespace sframe_gen::cli
