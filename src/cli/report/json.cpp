#include "cli/report/json.hpp"

#include <nlohmann/json.hpp>

#include <ostream>

#include "sframe_gen/find_rows.hpp"
#include "support/text.hpp"

namespace sframe_gen::cli {

namespace {

using nlohmann::ordered_json;

/// Names of files and symbols are bytes: what is not UTF-8 becomes U+FFFD.
std::string line_of(const ordered_json& json) {
  return json.dump(-1, ' ', false, ordered_json::error_handler_t::replace);
}

/// {"base": "cfa" or a register's number, "offset": …, "dereferenced": …}
ordered_json rule_of(const sframe::Rule& rule) {
  ordered_json json;
  if (rule.base_register) {
    json["base"] = *rule.base_register;
  } else {
    json["base"] = "cfa";
  }
  json["offset"] = rule.offset;
  json["dereferenced"] = rule.dereferenced;
  return json;
}

ordered_json row_of(const sframe::Fre& row) {
  ordered_json json{{"offset", row.pc_offset}};
  if (!row.recovery) {
    json["outermost"] = true;
    return json;
  }
  json["cfa"] = rule_of(row.recovery->cfa);
  if (row.recovery->return_address) json["return_address"] = rule_of(*row.recovery->return_address);
  if (row.recovery->frame_pointer) json["frame_pointer"] = rule_of(*row.recovery->frame_pointer);
  if (row.recovery->mangled_ra) json["signed"] = true;
  return json;
}

ordered_json descriptor_of(std::size_t index, const sframe::Fde& function, const DescribedFunction& described) {
  ordered_json json{{"index", index}, {"start", hex(function.start)}, {"size", function.size}};
  if (!described.symbol.empty()) json["symbol"] = described.symbol;
  if (!described.section.empty()) json["section"] = described.section;
  json["type"] = function.type == sframe::FdeType::Flexible ? "flexible" : "default";
  const bool repeats = function.pc_type == sframe::PcType::Mask;
  json["starts"] = !repeats ? "offsets" : sframe::has_bit_mask_fres(function) ? "bit-masks" : "repeating";
  if (function.repeat_size != 0) json["repeat_size"] = function.repeat_size;
  json["signal_frame"] = function.signal_frame;
  if (function.b_key) json["key"] = "B";
  json["rows"] = ordered_json::array();
  for (const sframe::Fre& row : function.fres) json["rows"].push_back(row_of(row));
  return json;
}

ordered_json header_of(const std::string& file, const FileSection& found) {
  const sframe::Section& section = found.section;
  std::size_t rows = 0;
  for (const sframe::Fde& function : section.fdes) rows += function.fres.size();
  return {{"file", file},
          {"section", found.name},
          {"format", name_of(section.version)},
          {"abi", name_of(section.abi)},
          {"big_endian", section.endian == Endian::Big},
          {"address", hex(section.address)},
          {"flags", section.flags},
          {"fixed_frame_pointer_offset", section.fixed_fp_offset},
          {"fixed_return_address_offset", section.fixed_ra_offset},
          {"descriptor_count", section.fdes.size()},
          {"row_count", rows}};
}

ordered_json reasons_as_json(const Coverage& coverage) {
  ordered_json reasons = ordered_json::object();
  for (const auto& [reason, count] : coverage.reasons) {
    reasons[std::string(key_of(reason))] = {
        {"functions", count.functions}, {"bytes", count.bytes}, {"meaning", sentence_of(reason)}};
  }
  return reasons;
}

ordered_json holes_of(const Coverage& coverage) {
  ordered_json holes = ordered_json::array();
  for (const NamedCoverageHole& named : coverage.holes) {
    ordered_json hole{
        {"begin", hex(named.hole.begin)}, {"end", hex(named.hole.end)}, {"reason", key_of(named.hole.reason)}};
    if (!named.section.empty()) hole["section"] = named.section;
    if (!named.function.empty()) hole["function"] = named.function;
    holes.push_back(std::move(hole));
  }
  return holes;
}

ordered_json functions_of(const Coverage& coverage) {
  return {{"total", coverage.functions},
          {"whole", coverage.whole},
          {"in_part", coverage.in_part},
          {"left_out", coverage.left_out}};
}

ordered_json dropped_of(const DroppedFdes& dropped) {
  ordered_json unreadable = ordered_json::array();
  for (const UnreadableFde& fde : dropped.named_unreadable)
    unreadable.push_back({{"section", fde.section}, {"offset", hex(fde.offset)}, {"reason", fde.why}});
  return {{"empty", dropped.empty},
          {"outside_code", dropped.outside_code},
          {"duplicate", dropped.duplicate},
          {"shadowed", dropped.shadowed},
          {"of_go", dropped.of_go},
          {"unreadable", dropped.unreadable},
          {"first_unreadable", std::move(unreadable)}};
}

ordered_json stubs_of(const Coverage& coverage) {
  ordered_json wrong = ordered_json::array();
  for (const StubContradiction& contradiction : coverage.contradictions) {
    ordered_json json{{"begin", hex(contradiction.begin)},
                      {"end", hex(contradiction.end)},
                      {"instructions", contradiction.instructions},
                      {"cfi", contradiction.cfi}};
    if (!contradiction.function.empty()) json["function"] = contradiction.function;
    wrong.push_back(std::move(json));
  }
  return {{"entries", coverage.stubs.entries},
          {"bytes", coverage.stubs.bytes},
          {"bytes_without_cfi", coverage.stubs.bytes_without_cfi},
          {"contradictions", std::move(wrong)}};
}

/// `place`: address and what it is from, or nothing.
ordered_json section_of(const Coverage& coverage, std::uint64_t size, ordered_json place = ordered_json::object()) {
  place.update({{"size", size},
                {"rows", coverage.rows},
                {"default_descriptors", coverage.default_descriptors},
                {"flexible_descriptors", coverage.flexible_descriptors},
                {"repeating_descriptors", coverage.mask_descriptors}});
  return place;
}

ordered_json json_of(const Compaction& saved) {
  return {{"default_size", saved.default_bytes},
          {"default_descriptors", saved.default_descriptors},
          {"default_rows", saved.default_rows},
          {"saved", {{"descriptors", saved.by_fewer_descriptors}, {"rows", saved.by_fewer_rows}}}};
}

ordered_json json_of(const CodeCount& count) {
  return {{"bytes", count.bytes},
          {"padding", count.padding},
          {"without_cfi", count.without_cfi},
          {"without_row", count.without_row}};
}

ordered_json json_of(const CodeCoverage::Described& described) {
  return {{"records", described.records}, {"bytes", described.bytes}};
}

ordered_json json_of(const SynthesisCoverage& synthesized) {
  ordered_json json = {{"functions", synthesized.functions},
                       {"by_contents", synthesized.by_contents},
                       {"bytes", synthesized.bytes},
                       {"rows", synthesized.rows},
                       {"refused", ordered_json::object()}};
  for (const auto& [reason, functions] : synthesized.refused) json["refused"][reason] = functions;
  return json;
}

ordered_json json_of(const CodeCoverage& code) {
  ordered_json json = json_of(code.all);
  json["calls_at_next_function"] = code.calls_at_next_function;
  for (const auto& [reason, bytes] : code.reasons) json["without_row_by_reason"][reason] = bytes;
  json["sections"] = ordered_json::array();
  for (const CodeCoverage::Section& section : code.sections) {
    json["sections"].push_back({{"name", section.name}});
    json["sections"].back().update(json_of(section.count));
  }
  json["places"] = ordered_json::array();
  for (const CodeCoverage::Place& place : code.places) {
    ordered_json one{{"section", place.section}, {"begin", hex(place.begin)}, {"end", hex(place.end)}};
    if (!place.function.empty()) one["function"] = place.function;
    one.update({{"without_cfi", place.without_cfi}, {"without_row", place.without_row}});
    json["places"].push_back(std::move(one));
  }
  json["sources"] = ordered_json::array();
  for (const auto& [source, described] : code.sources) {
    json["sources"].push_back({{"source", name_of(source)}});
    json["sources"].back().update(json_of(described));
  }
  return json;
}

ordered_json coverage_of(const Coverage& coverage, ordered_json section) {
  if (coverage.compaction) section["compaction"] = json_of(*coverage.compaction);
  ordered_json json{
      {"format", name_of(coverage.version)},
      {"abi", name_of(coverage.abi)},
      {"functions", functions_of(coverage)},
      {"bytes", {{"described", coverage.described_bytes}, {"covered", coverage.covered_bytes}}},
      {"stubs", stubs_of(coverage)},
      {"reasons", reasons_as_json(coverage)},
      {"left_out", holes_of(coverage)},
      {"dropped_fdes", dropped_of(coverage.dropped)},
      {"section", std::move(section)},
  };
  if (coverage.go.functions != 0) {
    const GoCoverage& go = coverage.go;
    json["go"] = {{"functions", go.functions}, {"bytes", go.bytes}, {"replaced_fdes", go.replaced}};
  }
  if (const SynthesisCoverage& synthesized = coverage.synthesized;
      synthesized.functions != 0 || !synthesized.refused.empty())
    json["synthesized"] = json_of(synthesized);
  if (coverage.code) json["code"] = json_of(*coverage.code);
  return json;
}

/// All that is said of a conversion but for the file's name.
ordered_json json_of(const ObjectOutcome& object) {
  ordered_json json = coverage_of(object.coverage, section_of(object.coverage, object.section_size));
  json["rewrite"] = {{"file_growth", object.growth}};
  return json;
}

ordered_json json_of(const LinkedOutcome& linked) {
  ordered_json json = coverage_of(
      linked.coverage, section_of(linked.coverage, linked.section_size, {{"address", hex(linked.section_address)}}));
  json["rewrite"] = {{"section_plan", name_of(linked.section_plan)},
                     {"table_plan", name_of(linked.table_plan)},
                     {"moved_sections", linked.moved},
                     {"file_growth", linked.growth},
                     {"build_id_left_first_page", linked.build_id_left_first_page}};
  return json;
}

ordered_json json_of(const KernelOutcome& filled) {
  ordered_json json = coverage_of(
      filled.coverage, section_of(filled.coverage, filled.section_size, {{"address", hex(filled.section_address)}}));
  json["rewrite"] = {{"section_plan", "filled"}, {"reserved_size", filled.reserved_size}, {"file_growth", 0}};
  return json;
}

ordered_json json_of(const MemberOutcome& member) {
  ordered_json json{{"name", member.name}};
  if (const auto* const why_not = std::get_if<std::string>(&member.outcome)) {
    json.update({{"status", "left alone"}, {"reason", *why_not}});
  } else {
    json["status"] = "done";
    json.update(json_of(std::get<ObjectOutcome>(member.outcome)));
  }
  return json;
}

ordered_json json_of(const ArchiveOutcome& archive) {
  ordered_json members = ordered_json::array();
  for (const MemberOutcome& member : archive.members) members.push_back(json_of(member));
  const std::size_t converted = converted_count(archive);
  return {{"archive", archive.is_thin ? "thin" : "regular"},
          {"converted", converted},
          {"left_alone", archive.members.size() - converted},
          {"file_growth", archive.growth},
          {"members", std::move(members)}};
}

ordered_json json_of_place(const EmitOutcome& emitted) {
  const auto at = [&](const char* from) -> ordered_json {
    return {{"address", hex(emitted.section_address)}, {"address_from", from}};
  };
  switch (emitted.address_from) {
    case AddressOrigin::None:
      break;
    case AddressOrigin::Given:
      return at("option");
    case AddressOrigin::Section:
      return at("section");
    case AddressOrigin::Plan:
      return at("plan");
  }
  return ordered_json::object();
}

ordered_json json_of(const std::vector<Verification::Difference>& differences) {
  ordered_json json = ordered_json::array();
  for (const Verification::Difference& difference : differences)
    json.push_back({{"pc", hex(difference.pc)}, {"text", text_of(difference)}});
  return json;
}

ordered_json json_of(const Verification& result) {
  return {
      {"status", result.difference_count != 0  ? "different"
                 : result.unchecked_count != 0 ? "unchecked"
                                               : "verified"},
      {"functions", result.functions},
      {"rows", result.rows},
      {"checked_pcs", result.checked_pcs},
      {"bytes",
       {{"described", result.described_bytes}, {"covered", result.claimed_bytes}, {"padding", result.padding_bytes}}},
      {"left_out_stretches", result.left_out_rows},
      {"difference_count", result.difference_count},
      {"unchecked_count", result.unchecked_count},
      {"differences", json_of(result.differences)},
      {"unchecked", json_of(result.unchecked)},
  };
}

void add_plans(ordered_json& json, const std::vector<TriedPlan>& plans) {
  if (plans.empty()) return;
  ordered_json list = ordered_json::array();
  for (const TriedPlan& plan : plans)
    list.push_back(
        {{"plan", name_of(plan)}, {"possible", plan.possible}, {"taken", plan.taken}, {"outcome", outcome_of(plan)}});
  json["plans"] = std::move(list);
}

void write(const ordered_json& json, std::ostream& out) {
  out << line_of(json) << '\n';
}

ordered_json json_of(const ReaderVerdict& verdict) {
  ordered_json json{{"reader", verdict.reader->name}, {"verdict", name_of(verdict.kind)}};
  if (verdict.kind != ReaderVerdict::Kind::Accepts) json["why"] = reason_of(verdict);
  if (verdict.helped_by_target) json["option"] = option_of(verdict);
  if (!verdict.patches.empty()) json["patches"] = verdict.patches;
  return json;
}

const char* name_of(RemoveOutcome::Left left) {
  using enum RemoveOutcome::Left;
  switch (left) {
    case Original:
      return "original";
    case OriginalWithSection:
      return "original-with-section";
    case EarlierConversion:
      return "earlier-conversion";
    case WithoutSection:
      return "without-section";
  }
  return "";
}

}  // namespace

void write_json(const std::string& file, const FileSection& section,
                const std::function<bool(const sframe::Fde&)>& wanted,
                const std::function<DescribedFunction(const sframe::Fde&)>& describe, std::ostream& out) {
  // One descriptor at a time: all of them as JSON take a hundred times the section.
  std::string header = line_of(header_of(file, section));
  header.pop_back();
  out << header << ",\"descriptors\":[";
  const char* between = "";
  for (std::size_t i = 0; i < section.section.fdes.size(); ++i) {
    const sframe::Fde& function = section.section.fdes[i];
    if (!wanted(function)) continue;
    out << between << line_of(descriptor_of(i, function, describe(function)));
    between = ",";
  }
  out << "]}\n";
}

void write_json(const std::string& file, const std::string& output, const ConvertOutcome& outcome,
                const std::vector<TriedPlan>& plans, std::ostream& out) {
  ordered_json json{{"file", file}, {"output", output}, {"status", "done"}};
  json.update(std::visit([](const auto& kind) { return json_of(kind); }, outcome));
  add_plans(json, plans);
  write(json, out);
}

void write_json(const std::string& file, const std::string& output, const EmitOutcome& emitted, std::ostream& out) {
  ordered_json json{{"file", file}, {"output", output}, {"status", "emitted"}};
  json.update(
      coverage_of(emitted.coverage, section_of(emitted.coverage, emitted.section_size, json_of_place(emitted))));
  write(json, out);
}

void write_json(const std::string& file, const std::string& output, const RemoveOutcome& removed, std::ostream& out) {
  write(ordered_json{{"file", file},
                     {"output", output},
                     {"status", "removed"},
                     {"section", removed.section},
                     {"left", name_of(removed.left)},
                     {"size", {{"converted", removed.converted_size}, {"original", removed.original_size}}}},
        out);
}

namespace {

ordered_json json_of(const std::vector<CodeCheck::Contradiction>& contradictions) {
  ordered_json list = ordered_json::array();
  for (const CodeCheck::Contradiction& found : contradictions)
    list.push_back({{"function", found.function},
                    {"start", hex(found.start)},
                    {"pc", hex(found.begin)},
                    {"end", hex(found.end)},
                    {"cfi", found.cfi},
                    {"code", found.code},
                    {"instruction", found.instruction}});
  return list;
}

}  // namespace

void write_json(const std::string& file, const CodeCheck& result, std::ostream& out) {
  ordered_json refused = ordered_json::object();
  for (const auto& [reason, count] : result.refused_by_reason) refused[reason] = count;
  ordered_json tables = ordered_json::array();
  for (const CodeCheck::TableByContents& found : result.tables_by_contents)
    tables.push_back({{"function", found.function}, {"start", hex(found.start)}, {"table", hex(found.table)}});
  write(
      {
          {"file", file},
          {"status", result.contradictions.empty() ? "verified" : "contradicted"},
          {"functions", result.functions},
          {"proved", result.proved},
          {"proved_by_contents", result.proved_by_contents},
          {"refused", std::move(refused)},
          {"bytes", {{"described", result.described_bytes}, {"compared", result.compared_bytes}}},
          {"not_reached", result.not_reached_bytes},
          {"contradicted_functions", result.contradicted_functions},
          {"contradictions", json_of(result.contradictions)},
          {"contradictions_left_out", result.contradictions_left_out},
          {"doubted", json_of(result.doubted)},
          {"doubted_left_out", result.doubted_left_out},
          {"tables_by_contents", std::move(tables)},
      },
      out);
}

void write_json(const std::string& file, const Verification& result, std::ostream& out) {
  ordered_json json{{"file", file}};
  json.update(json_of(result));
  write(json, out);
}

void write_json(const std::string& file, const std::vector<MemberVerification>& members, std::ostream& out) {
  ordered_json list = ordered_json::array();
  for (const MemberVerification& verified : members) {
    if (!verified.failure.empty()) continue;
    ordered_json member{{"name", verified.name}};
    member.update(json_of(verified.result));
    list.push_back(std::move(member));
  }
  ordered_json json{{"file", file}};
  json.update(json_of(sum_of(members)));
  json["members"] = std::move(list);
  write(json, out);
}

void write_json(const CheckedSection& checked, std::ostream& out) {
  ordered_json json{{"file", checked.name}, {"readers", ordered_json::array()}};
  for (const ReaderVerdict& verdict : checked.verdicts) json["readers"].push_back(json_of(verdict));
  write(json, out);
}

void write_json_failure(const std::string& file, const std::string& status, const std::string& error, std::ostream& out,
                        const std::vector<TriedPlan>& plans, bool keeps_section) {
  ordered_json json{{"file", file}, {"status", status}, {"error", without_name(file, error)}};
  if (keeps_section) json["keeps_section"] = true;
  add_plans(json, plans);
  write(json, out);
}

void write_json_total(const std::vector<std::pair<std::string, std::uint64_t>>& numbers, std::int64_t growth,
                      const ReasonCounts& reasons, const CodeCount& code, std::ostream& out) {
  ordered_json total = ordered_json::object();
  for (const auto& [name, number] : numbers) total[name] = number;
  total["file_growth"] = growth;
  ordered_json counts = ordered_json::object();
  for (const auto& [reason, count] : reasons) counts[reason] = count;
  total["reasons"] = std::move(counts);
  if (code.bytes != 0) total["code"] = json_of(code);
  write({{"total", std::move(total)}}, out);
}

}  // namespace sframe_gen::cli
