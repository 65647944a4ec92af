#include "cli/report_json.hpp"

#include <nlohmann/json.hpp>

#include <ostream>

#include "support/text.hpp"

namespace sframe_gen::cli {

namespace {

using nlohmann::ordered_json;

ordered_json reasons_of(const Report& report) {
  ordered_json reasons = ordered_json::object();
  for (std::size_t i = 0; i < report.reasons.size(); ++i) {
    const auto& count = report.reasons[i];
    if (count.functions == 0) continue;
    const auto reason = static_cast<emit::Unrepresentable>(i);
    reasons[std::string(emit::key_of(reason))] = {
        {"functions", count.functions}, {"bytes", count.bytes}, {"meaning", emit::sentence_of(reason)}};
  }
  return reasons;
}

ordered_json holes_of(const Report& report) {
  ordered_json holes = ordered_json::array();
  for (const NamedHole& named : report.holes) {
    ordered_json hole{
        {"begin", hex(named.hole.begin)}, {"end", hex(named.hole.end)}, {"reason", emit::key_of(named.hole.reason)}};
    if (!named.section.empty()) hole["section"] = named.section;
    if (!named.function.empty()) hole["function"] = named.function;
    holes.push_back(std::move(hole));
  }
  return holes;
}

ordered_json section_of(const Report& report) {
  ordered_json section = ordered_json::object();
  if (!report.is_object) section["address"] = hex(report.section_address);
  if (!report.is_object && !report.address_from.empty()) section["address_from"] = report.address_from;
  section.update({{"size", report.section_size},
                  {"rows", report.rows},
                  {"default_descriptors", report.default_descriptors},
                  {"flexible_descriptors", report.flexible_descriptors},
                  {"repeating_descriptors", report.mask_descriptors}});
  return section;
}

ordered_json rewrite_of(const Report& report) {
  if (report.is_object) return {{"file_growth", report.growth}};
  if (report.reserved_size != 0)
    return {{"section_plan", report.section_plan}, {"reserved_size", report.reserved_size}, {"file_growth", 0}};
  return {{"section_plan", report.section_plan},
          {"table_plan", report.table_plan},
          {"moved_sections", report.evicted},
          {"file_growth", report.growth},
          {"build_id_left_first_page", report.build_id_moved}};
}

/// All that is said of a conversion but for the file's name.
ordered_json coverage_of(const Report& report) {
  ordered_json json{
      {"format", report.format},
      {"abi", report.abi},
      {"functions",
       {{"total", report.functions},
        {"whole", report.whole},
        {"in_part", report.in_part},
        {"left_out", report.left_out}}},
      {"bytes", {{"described", report.described_bytes}, {"covered", report.covered_bytes}}},
      {"reasons", reasons_of(report)},
      {"left_out", holes_of(report)},
      {"dropped_fdes",
       {{"empty", report.dropped.empty},
        {"outside_code", report.dropped.outside_code},
        {"duplicate", report.dropped.duplicate},
        {"shadowed", report.dropped.shadowed}}},
      {"section", section_of(report)},
  };
  if (report.address_from.empty()) json["rewrite"] = rewrite_of(report);
  return json;
}

ordered_json json_of(const MemberReport& member) {
  ordered_json json{{"name", member.name}};
  if (!member.converted) {
    json.update({{"status", "left alone"}, {"reason", member.why_not}});
    return json;
  }
  json["status"] = "done";
  json.update(coverage_of(*member.converted));
  return json;
}

ordered_json json_of(const verify::Verification& result) {
  ordered_json differences = ordered_json::array();
  for (const verify::Difference& difference : result.differences)
    differences.push_back({{"pc", hex(difference.pc)}, {"text", difference.text}});
  return {
      {"status", result.difference_count != 0  ? "different"
                 : result.unchecked_count != 0 ? "unchecked"
                                               : "verified"},
      {"functions", result.functions},
      {"rows", result.rows},
      {"checked_pcs", result.checked_pcs},
      {"bytes", {{"described", result.described_bytes}, {"covered", result.claimed_bytes}}},
      {"left_out_stretches", result.left_out_rows},
      {"difference_count", result.difference_count},
      {"unchecked_count", result.unchecked_count},
      {"differences", differences},
  };
}

void add_plans(ordered_json& json, const std::vector<elf::Trial>& plans) {
  if (plans.empty()) return;
  ordered_json list = ordered_json::array();
  for (const elf::Trial& plan : plans)
    list.push_back(
        {{"plan", plan.plan}, {"possible", plan.possible}, {"taken", plan.taken}, {"outcome", plan.outcome}});
  json["plans"] = std::move(list);
}

/// File names and symbols are bytes; what is not UTF-8 becomes U+FFFD.
void write(const ordered_json& json, std::ostream& out) {
  out << json.dump(-1, ' ', false, ordered_json::error_handler_t::replace) << '\n';
}

}  // namespace

void write_json(const Report& report, std::ostream& out, const std::vector<elf::Trial>& plans) {
  ordered_json json{
      {"file", report.file}, {"output", report.output}, {"status", report.address_from.empty() ? "done" : "emitted"}};
  json.update(coverage_of(report));
  add_plans(json, plans);
  write(json, out);
}

void write_json(const ArchiveReport& report, std::ostream& out) {
  ordered_json members = ordered_json::array();
  std::uint64_t converted = 0;
  for (const MemberReport& member : report.members) {
    if (member.converted) ++converted;
    members.push_back(json_of(member));
  }
  write(ordered_json{{"file", report.file},
                     {"output", report.output},
                     {"status", "done"},
                     {"archive", report.is_thin ? "thin" : "regular"},
                     {"converted", converted},
                     {"left_alone", report.members.size() - converted},
                     {"file_growth", report.growth},
                     {"members", std::move(members)}},
        out);
}

void write_json(const Removal& removal, std::ostream& out) {
  write(ordered_json{{"file", removal.file},
                     {"output", removal.output},
                     {"status", "removed"},
                     {"section", removal.section},
                     {"size", {{"converted", removal.converted_size}, {"original", removal.original_size}}}},
        out);
}

void write_json(const std::string& file, const verify::Verification& result, std::ostream& out) {
  ordered_json json{{"file", file}};
  json.update(json_of(result));
  write(json, out);
}

void write_json(const std::string& file, const std::vector<MemberVerification>& members, std::ostream& out) {
  ordered_json list = ordered_json::array();
  for (const auto& [name, result] : members) {
    ordered_json member{{"name", name}};
    member.update(json_of(result));
    list.push_back(std::move(member));
  }
  ordered_json json{{"file", file}};
  json.update(json_of(sum_of(members)));
  json["members"] = std::move(list);
  write(json, out);
}

void write_json_failure(const std::string& file, const std::string& status, const std::string& error, std::ostream& out,
                        const std::vector<elf::Trial>& plans) {
  ordered_json json{{"file", file}, {"status", status}, {"error", error}};
  add_plans(json, plans);
  write(json, out);
}

}  // namespace sframe_gen::cli
