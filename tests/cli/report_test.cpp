#include "cli/report.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <sstream>

#include "cli/archive_report.hpp"
#include "cli/report_json.hpp"
#include "cli/report_text.hpp"
#include "cli/verify_report.hpp"

namespace sframe_gen::cli {
namespace {

using emit::Unrepresentable;
using nlohmann::ordered_json;

cfi::FunctionFrames frames(std::uint64_t start, std::uint64_t size) {
  cfi::FunctionFrames function;
  function.start = start;
  function.size = size;
  return function;
}

sframe::Function descriptor(std::size_t rows, sframe::DescriptorType type = sframe::DescriptorType::Default,
                            sframe::PcType pc_type = sframe::PcType::Increment) {
  sframe::Function function;
  function.type = type;
  function.pc_type = pc_type;
  function.rows.resize(rows);
  return function;
}

/// Four functions: whole, in part with two reasons, left out, and a PLT.
Report four_functions() {
  Report report;
  report.file = report.output = "a.out";
  report.add(frames(0x1000, 0x20), {{descriptor(3)}, {}});
  report.add(frames(0x2000, 0x40), {{descriptor(2, sframe::DescriptorType::Flexible)},
                                    {{0x2010, 0x2014, Unrepresentable::CfaIsExpression},
                                     {0x2020, 0x2024, Unrepresentable::CfaIsExpression},
                                     {0x2030, 0x2031, Unrepresentable::OffsetTooLarge}}});
  report.add(frames(0x3000, 0x10), {{}, {{0x3000, 0x3010, Unrepresentable::CfaIsExpression}}});
  report.add(frames(0x4000, 0x100), {{descriptor(2, sframe::DescriptorType::Default, sframe::PcType::Mask)}, {}});
  return report;
}

std::string summary_of(const Report& report) {
  std::ostringstream out;
  write_summary(report, out);
  return out.str();
}

std::string details_of(const Report& report) {
  std::ostringstream out;
  write_details(report, out);
  return out.str();
}

ordered_json json_of(const Report& report) {
  std::ostringstream out;
  write_json(report, out);
  return ordered_json::parse(out.str());
}

// What a file is called, and what it calls its symbols and sections, must not write on the terminal nor fake a line.
TEST(Report, ControlCharactersAreEscaped) {
  Report report = four_functions();
  report.file = "file\n1";
  report.holes[0].function = "function\n2";
  report.holes[0].section = ".section\n3";
  report.evicted = {".moved\n4"};
  Removal removal;
  removal.file = "file\n5";
  ArchiveReport left_alone{"archive\n6", {}, {}, {}, {}};
  left_alone.members.push_back({"member\n7", {}, "reason\n8"});
  ArchiveReport converted{"archive\n9", {}, {}, {}, {}};
  converted.members.push_back({"member", report, {}});
  std::ostringstream out;
  write_summary(report, out);
  write_details(report, out);
  write_summary(removal, out);
  write_plans({{"plan", "outcome\n10", false, false}}, out);
  for (const ArchiveReport* const archive : {&left_alone, &converted}) {
    write_summary(*archive, out);
    write_details(*archive, out);
  }
  write_summary("file\n11", verify::Verification(), out);
  write_summary("file\n12", std::vector<MemberVerification>(), out);
  const std::string text = out.str();
  for (int i = 1; i <= 12; ++i) {
    EXPECT_NE(text.find("\\x0a" + std::to_string(i)), std::string::npos) << i;
    EXPECT_EQ(text.find('\n' + std::to_string(i)), std::string::npos) << i;
  }
}

TEST(Report, CountsFunctionsOnce) {
  const Report report = four_functions();
  EXPECT_EQ(report.functions, 4U);
  EXPECT_EQ(report.whole, 2U);
  EXPECT_EQ(report.in_part, 1U);
  EXPECT_EQ(report.left_out, 1U);
}

TEST(Report, CountsBytes) {
  const Report report = four_functions();
  EXPECT_EQ(report.described_bytes, 0x20U + 0x40 + 0x10 + 0x100);
  EXPECT_EQ(report.covered_bytes, report.described_bytes - 4 - 4 - 1 - 0x10);
}

TEST(Report, CountsAReasonOncePerFunctionAndEachByte) {
  const Report report = four_functions();
  const auto& expression = report.reasons[static_cast<std::size_t>(Unrepresentable::CfaIsExpression)];
  EXPECT_EQ(expression.functions, 2U);
  EXPECT_EQ(expression.bytes, 4U + 4 + 0x10);
  const auto& offset = report.reasons[static_cast<std::size_t>(Unrepresentable::OffsetTooLarge)];
  EXPECT_EQ(offset.functions, 1U);
  EXPECT_EQ(offset.bytes, 1U);
}

TEST(Report, CountsDescriptorsByKind) {
  const Report report = four_functions();
  EXPECT_EQ(report.default_descriptors, 1U);
  EXPECT_EQ(report.flexible_descriptors, 1U);
  EXPECT_EQ(report.mask_descriptors, 1U);
  EXPECT_EQ(report.rows, 7U);
}

TEST(Report, AppendedPartsCountAsOne) {
  Report both = four_functions();
  both.append(four_functions());
  EXPECT_EQ(both.file, "a.out");
  EXPECT_EQ(both.functions, 8U);
  EXPECT_EQ(both.whole, 4U);
  EXPECT_EQ(both.in_part, 2U);
  EXPECT_EQ(both.left_out, 2U);
  EXPECT_EQ(both.rows, 14U);
  EXPECT_EQ(both.holes.size(), 8U);
  EXPECT_EQ(both.described_bytes, 2 * four_functions().described_bytes);
  EXPECT_EQ(both.covered_bytes, 2 * four_functions().covered_bytes);
  EXPECT_EQ(both.default_descriptors + both.flexible_descriptors + both.mask_descriptors, 6U);
  EXPECT_EQ(both.reasons[static_cast<std::size_t>(Unrepresentable::CfaIsExpression)].functions, 4U);
}

TEST(Summary, AllWhole) {
  Report report;
  report.file = "libz.so.1";
  report.add(frames(0x1000, 0x20), {{descriptor(3)}, {}});
  EXPECT_EQ(summary_of(report), "libz.so.1: 1 function: 1 whole, 0 in part, 0 left out\n");
}

TEST(Summary, Reasons) {
  EXPECT_EQ(summary_of(four_functions()),
            "a.out: 4 functions: 2 whole, 1 in part, 1 left out (2 CFA is a DWARF expression SFrame cannot say, "
            "1 offset does not fit in 32 bits)\n");
}

TEST(Details, NameEachHole) {
  Report report = four_functions();
  report.holes[0].function = "strange";
  const std::string text = details_of(report);
  EXPECT_NE(text.find("  0x2010..0x2014 strange: CFA is a DWARF expression SFrame cannot say\n"), std::string::npos);
  EXPECT_NE(text.find("  0x2030..0x2031 (no symbol): offset does not fit in 32 bits\n"), std::string::npos);
}

TEST(Details, DroppedEntriesOnlyWhereThereAreAny) {
  Report report;
  EXPECT_EQ(details_of(report).find("FDE"), std::string::npos);
  report.dropped = {.empty = 1, .outside_code = 2, .duplicate = 3, .shadowed = 4};
  const std::string text = details_of(report);
  EXPECT_NE(text.find("  dropped: 1 FDE without bytes\n"), std::string::npos);
  EXPECT_NE(text.find("  dropped: 2 FDEs of discarded or no code\n"), std::string::npos);
  EXPECT_NE(text.find("  dropped: 3 FDEs said twice\n"), std::string::npos);
  EXPECT_NE(text.find("  dropped: 4 FDEs of .debug_frame for what .eh_frame describes\n"), std::string::npos);
}

TEST(NoFunction, SaysWhatBecameOfTheFdes) {
  Report report;
  EXPECT_EQ(why_no_function(report), "has no function that SFrame could describe");
  report.reasons = four_functions().reasons;
  report.dropped.outside_code = 2;
  EXPECT_EQ(why_no_function(report),
            "has no function that SFrame could describe (2 FDEs of discarded or no code, 2 CFA is a DWARF expression "
            "SFrame cannot say, 1 offset does not fit in 32 bits)");
}

TEST(Details, SectionAndPlan) {
  Report report = four_functions();
  report.section_address = 0x5000;
  report.section_size = 0x123;
  report.section_plan = "S1";
  report.table_plan = "T2";
  report.evicted = {".gnu.hash", ".dynsym"};
  report.growth = 4096;
  report.build_id_moved = true;
  const std::string text = details_of(report);
  EXPECT_NE(text.find("  .sframe: 0x123 bytes at 0x5000, 7 rows, descriptors: 1 default, 1 flexible, 1 repeating\n"),
            std::string::npos);
  EXPECT_NE(text.find("  plan S1+T2, file grows by 4096 bytes, .gnu.hash moved, .dynsym moved, build-id left the first "
                      "page"),
            std::string::npos);
}

TEST(Json, SaysWhatTheReportSays) {
  Report report = four_functions();
  report.section_address = 0xffffffffff000000;
  const ordered_json json = json_of(report);
  EXPECT_EQ(json["file"], "a.out");
  EXPECT_EQ(json["status"], "done");
  EXPECT_EQ(json["functions"], (ordered_json{{"total", 4}, {"whole", 2}, {"in_part", 1}, {"left_out", 1}}));
  EXPECT_EQ(json["reasons"]["cfa-is-expression"]["functions"], 2);
  EXPECT_EQ(json["reasons"]["cfa-is-expression"]["bytes"], 24);
  EXPECT_EQ(json["reasons"].size(), 2U);
  EXPECT_EQ(json["left_out"].size(), 4U);
  EXPECT_EQ(json["left_out"][2],
            (ordered_json{{"begin", "0x2030"}, {"end", "0x2031"}, {"reason", "offset-too-large"}}));
  EXPECT_EQ(json["section"]["address"], "0xffffffffff000000") << "numbers of JSON lose bits";
}

TEST(Json, IsOneLineWhateverTheNames) {
  Report report = four_functions();
  report.file = "two\nlines \"quoted\" \xff";
  report.holes[0].function = "name\twith\\signs";
  std::ostringstream out;
  write_json(report, out);
  EXPECT_EQ(out.str().find('\n'), out.str().size() - 1);
  const ordered_json json = ordered_json::parse(out.str());
  EXPECT_EQ(json["file"], "two\nlines \"quoted\" \xef\xbf\xbd");
  EXPECT_EQ(json["left_out"][0]["function"], "name\twith\\signs");
}

TEST(Json, Failure) {
  std::ostringstream out;
  write_json_failure("a.out", "failed", "a.out: is not an ELF file", out);
  EXPECT_EQ(out.str(), "{\"file\":\"a.out\",\"status\":\"failed\",\"error\":\"a.out: is not an ELF file\"}\n");
}

TEST(Json, Verification) {
  verify::Verification result;
  result.functions = 3;
  result.checked_pcs = 9;
  std::ostringstream out;
  write_json("a.out", result, out);
  EXPECT_EQ(ordered_json::parse(out.str())["status"], "verified");

  result.difference_count = 20;
  result.differences = {{0x2030, "pc 0x2030: .sframe says sp+16, DWARF says rsp+24"}};
  out.str({});
  write_json("a.out", result, out);
  const ordered_json json = ordered_json::parse(out.str());
  EXPECT_EQ(json["status"], "different");
  EXPECT_EQ(json["difference_count"], 20) << "all of them, though only the first are listed";
  EXPECT_EQ(json["differences"][0]["pc"], "0x2030");
}

}  // namespace
}  // namespace sframe_gen::cli
