#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <sstream>

#include "cli/report/json.hpp"
#include "cli/report/text.hpp"
#include "encode/four_functions.hpp"

namespace sframe_gen::cli {
namespace {

using nlohmann::ordered_json;
using test::descriptor;
using test::four_functions;

LinkedOutcome linked(Coverage coverage = four_functions()) {
  LinkedOutcome outcome;
  outcome.coverage = std::move(coverage);
  return outcome;
}

std::string summary_of(const ConvertOutcome& outcome, const std::string& file = "a.out") {
  std::ostringstream out;
  write_summary(file, outcome, Done::Really, out);
  return out.str();
}

std::string details_of(const ConvertOutcome& outcome) {
  std::ostringstream out;
  write_details("a.out", outcome, out);
  return out.str();
}

std::string json_text(const std::string& file, const ConvertOutcome& outcome) {
  std::ostringstream out;
  write_json(file, file, outcome, {}, out);
  return out.str();
}

// What a file is called, and what it calls its symbols and sections, must not write on the terminal nor fake a line.
TEST(Report, ControlCharactersAreEscaped) {
  LinkedOutcome report = linked();
  report.coverage.holes[0].function = "function\n2";
  report.coverage.holes[0].section = ".section\n3";
  report.moved = {".moved\n4"};
  const ArchiveOutcome left_alone{false, {{"member\n7", "reason\n8"}}, 0};
  const ArchiveOutcome converted{false, {{"member", ObjectOutcome{report.coverage, 0, 0}}}, 0};
  std::ostringstream out;
  write_summary("file\n1", report, Done::Really, out);
  write_details("file\n1", report, out);
  write_summary("file\n5", RemoveOutcome(), Done::Would, out);
  TriedPlan plan;
  plan.obstacle = "outcome\n10";
  write_plans({plan}, out);
  write_summary("archive\n6", left_alone, Done::Really, out);
  write_details("archive\n6", left_alone, out);
  write_summary("archive\n9", converted, Done::Would, out);
  write_details("archive\n9", converted, out);
  write_summary("file\n11", Verification(), out);
  write_summary("file\n12", std::vector<MemberVerification>(), out);
  const std::string text = out.str();
  for (int i = 1; i <= 12; ++i) {
    EXPECT_NE(text.find("\\x0a" + std::to_string(i)), std::string::npos) << i;
    EXPECT_EQ(text.find('\n' + std::to_string(i)), std::string::npos) << i;
  }
}

TEST(Summary, ReasonsOfMembersLackAdviceAndHaveNoOpenParenthesis) {
  const ArchiveOutcome archive{
      false, {{"a.o", "no CFI (.eh_frame); build it again"}, {"b.o", "bitcode (convert it; or link it)"}}, 0};
  std::ostringstream out;
  write_summary("lib.a", archive, Done::Really, out);
  EXPECT_EQ(out.str(), "lib.a: added .sframe to 0 of 2 members, not to 2 (1 no CFI (.eh_frame), 1 bitcode)\n");
}

TEST(Summary, AllWhole) {
  Coverage coverage;
  encode::count(0x20, {{descriptor(3)}, {}}, coverage);
  LinkedOutcome report = linked(coverage);
  report.section_size = 400'000;
  report.growth = 4096;
  EXPECT_EQ(summary_of(report, "libz.so.1"),
            "libz.so.1: added .sframe (391 KiB, the file grew by 4096 bytes): 1 function, fully covered\n");
  coverage.functions = coverage.whole = 2;
  coverage.version = sframe::Version::CtfFrame;
  std::ostringstream would;
  write_summary("a.o", ObjectOutcome{coverage, 20'000'000, -1}, Done::Would, would);
  EXPECT_EQ(would.str(),
            "a.o: would add .ctf_frame (19 MiB, the file would shrink by 1 byte): 2 functions, all covered\n");
}

TEST(Summary, OfWhatIsRemoved) {
  const RemoveOutcome removed{".sframe", 164, 100};
  std::ostringstream out;
  write_summary("a", removed, Done::Really, out);
  write_summary("a", removed, Done::Would, out);
  EXPECT_EQ(out.str(),
            "a: removed .sframe, restored the original (100 bytes, was 164)\n"
            "a: would remove .sframe and restore the original (100 bytes, now 164)\n");
}

TEST(Summary, OfWhatIsLeftWhereNotTheOriginalAloneIsRestored) {
  using enum RemoveOutcome::Left;
  std::ostringstream out;
  for (const RemoveOutcome::Left left : {OriginalWithSection, EarlierConversion, WithoutSection}) {
    write_summary("a", RemoveOutcome{".sframe", 164, 100, left}, Done::Really, out);
    write_summary("a", RemoveOutcome{".sframe", 164, 100, left}, Done::Would, out);
  }
  EXPECT_EQ(out.str(),
            "a: removed .sframe, restored the original, which has a .sframe of its own (100 bytes, was 164)\n"
            "a: would remove .sframe and restore the original, which has a .sframe of its own (100 bytes, now 164)\n"
            "a: removed .sframe, restored the file before its last conversion, which has the .sframe of an earlier one "
            "(100 bytes, was 164; --remove --section-only removes that too)\n"
            "a: would remove .sframe and restore the file before its last conversion, which has the .sframe of an "
            "earlier one (100 bytes, now 164; --remove --section-only removes that too)\n"
            "a: removed .sframe alone (100 bytes, was 164)\n"
            "a: would remove .sframe alone (100 bytes, now 164)\n");
}

TEST(Summary, Reasons) {
  EXPECT_EQ(summary_of(linked()),
            "a.out: added .sframe (0 bytes, same file size): 4 functions: 2 fully covered, 1 partly, 1 not (2 CFA is a "
            "DWARF expression, which SFrame cannot represent, "
            "1 offset does not fit in 32 bits)\n");
}

TEST(Details, NameEachHole) {
  LinkedOutcome report = linked();
  report.coverage.holes[0].function = "strange";
  const std::string text = details_of(report);
  EXPECT_NE(text.find("  0x2010..0x2014 strange: CFA is a DWARF expression, which SFrame cannot represent\n"),
            std::string::npos);
  EXPECT_NE(text.find("  0x2030..0x2031 (no symbol): offset does not fit in 32 bits\n"), std::string::npos);
}

TEST(Details, DroppedFdesOnlyWhereThereAreAny) {
  LinkedOutcome report;
  EXPECT_EQ(details_of(report).find("dropped"), std::string::npos);
  report.coverage.dropped = {.empty = 1,
                             .outside_code = 2,
                             .duplicate = 3,
                             .shadowed = 4,
                             .of_go = 6,
                             .unreadable = 5,
                             .named_unreadable = {{".eh_frame", 0x18, ".eh_frame+0x8: CIE version is 2"}}};
  const std::string text = details_of(report);
  EXPECT_NE(text.find("  dropped: 1 FDE without bytes\n"), std::string::npos);
  EXPECT_NE(text.find("  dropped: 2 FDEs of discarded or no code\n"), std::string::npos);
  EXPECT_NE(text.find("  dropped: 3 FDEs said twice\n"), std::string::npos);
  EXPECT_NE(text.find("  dropped: 4 FDEs of .debug_frame for what .eh_frame describes\n"), std::string::npos);
  EXPECT_NE(text.find("  dropped: 6 FDEs of Go's linker, whose .debug_frame is wrong\n"), std::string::npos);
  EXPECT_NE(text.find("  dropped: 5 FDEs that cannot be read\n"
                      "    .eh_frame+0x18: .eh_frame+0x8: CIE version is 2\n"),
            std::string::npos);
}

TEST(Details, SectionAndPlan) {
  LinkedOutcome report = linked();
  report.section_address = 0x5000;
  report.section_size = 0x123;
  report.section_plan = SectionPlan::Gap;
  report.table_plan = TablePlan::DynamicTables;
  report.moved = {".gnu.hash", ".dynsym"};
  report.growth = 4096;
  report.build_id_left_first_page = true;
  const std::string text = details_of(report);
  EXPECT_NE(text.find("  .sframe: 291 bytes at 0x5000, 7 rows, FDEs: 1 default, 1 flexible, 1 repeating (PCMASK)\n"),
            std::string::npos);
  EXPECT_NE(text.find("  layout: section in a gap after a segment, headers in the place of dynamic tables (S1+T2), "
                      ".gnu.hash moved, .dynsym moved, build-id no longer on the first page"),
            std::string::npos);
}

TEST(Details, NameTheSectionOfCtfFrame) {
  LinkedOutcome report = linked();
  report.coverage.version = sframe::Version::CtfFrame;
  report.section_size = 291;
  EXPECT_NE(details_of(report).find("  .ctf_frame: 291 bytes at "), std::string::npos) << details_of(report);
}

LinkedOutcome with_bare_code() {
  LinkedOutcome report = linked();
  CodeCoverage& code = report.coverage.code.emplace();
  code.all = {1000, 100, 60, 61};
  code.sections = {{".init", {20, 0, 20, 20}}, {".text", {980, 100, 40, 41}}};
  code.places = {{".init", "", 0x1000, 0x1014, 20, 20},
                 {".text", "three", 0x2000, 0x2003, 3, 3},
                 {".text", "one", 0x2010, 0x2011, 0, 1},
                 {".text", "many", 0x2020, 0x2045, 37, 37}};
  code.sources = {{RowSource::EhFrame, {9, 800}}, {RowSource::Instructions, {1, 39}}};
  return report;
}

TEST(Details, SayHowMuchCodeHasNoDescription) {
  EXPECT_EQ(details_of(linked()).find("code:"), std::string::npos);
  EXPECT_NE(details_of(with_bare_code())
                .find("  code: 1000 bytes, 100 of them padding; 60 without CFI, 61 without a row "
                      "(largest gaps: many 37, .init at 0x1000 20, three 3)\n"
                      "  rows from: .eh_frame (9 FDEs, 800 bytes); instructions (1 stub, 39 bytes)\n"),
            std::string::npos);
}

TEST(CodePlaces, AreAllNamedBySection) {
  std::ostringstream out;
  write_code_places(with_bare_code(), out);
  EXPECT_EQ(out.str(),
            "  code of .init: 20 bytes, 0 of them padding; 20 without CFI, 20 without a row\n"
            "    0x1000..0x1014 (no symbol): 20 without CFI, 20 without a row\n"
            "  code of .text: 980 bytes, 100 of them padding; 40 without CFI, 41 without a row\n"
            "    0x2000..0x2003 three: 3 without CFI, 3 without a row\n"
            "    0x2010..0x2011 one: 0 without CFI, 1 without a row\n"
            "    0x2020..0x2045 many: 37 without CFI, 37 without a row\n");
}

std::string text_of(const CodeShares& shares) {
  std::ostringstream out;
  shares.write(out);
  return out.str();
}

TEST(CodeShares, NameTheFilesThatLackMost) {
  CodeShares shares;
  EXPECT_EQ(text_of(shares), "") << "no code was counted";
  shares.add("whole", {.bytes = 1000, .padding = 100, .without_cfi = 0, .without_row = 0});
  EXPECT_EQ(text_of(shares), "  100.0 % of 900 bytes of code has rows\n");
  shares.add("few bytes", {.bytes = 5000, .padding = 0, .without_cfi = 4000, .without_row = 4000});
  shares.add("small share", {.bytes = 10000000, .padding = 0, .without_cfi = 9000, .without_row = 9000});
  EXPECT_EQ(text_of(shares), "  99.8 % of 9771 KiB of code has rows\n") << "never rounded up";
  for (const std::uint64_t size : {3U, 1U, 6U, 2U, 4U, 5U})
    shares.add("lacks\n" + std::to_string(size),
               {.bytes = 30000 * size, .padding = 0, .without_cfi = 0, .without_row = 20000 * size});
  EXPECT_EQ(text_of(shares),
            "  95.9 % of 10 MiB of code has rows\n"
            "  without rows: 117 KiB of 176 KiB in lacks\\x0a6\n"
            "  without rows: 98 KiB of 146 KiB in lacks\\x0a5\n"
            "  without rows: 78 KiB of 117 KiB in lacks\\x0a4\n"
            "  without rows: 59 KiB of 88 KiB in lacks\\x0a3\n"
            "  without rows: 39 KiB of 59 KiB in lacks\\x0a2\n"
            "  to cover more, build with -fasynchronous-unwind-tables, or give debug files with --cfi-from\n");
}

TEST(Json, SaysWhatCodeHasNoDescription) {
  EXPECT_FALSE(ordered_json::parse(json_text("a.out", linked())).contains("code"));
  const ordered_json json = ordered_json::parse(json_text("a.out", with_bare_code()))["code"];
  EXPECT_EQ(json["bytes"], 1000);
  EXPECT_EQ(
      json["sections"][1],
      (ordered_json{{"name", ".text"}, {"bytes", 980}, {"padding", 100}, {"without_cfi", 40}, {"without_row", 41}}));
  EXPECT_EQ(json["places"].size(), 4U);
  EXPECT_EQ(json["places"][2], (ordered_json{{"section", ".text"},
                                             {"begin", "0x2010"},
                                             {"end", "0x2011"},
                                             {"function", "one"},
                                             {"without_cfi", 0},
                                             {"without_row", 1}}));
}

TEST(Json, SaysWhatTheReportSays) {
  LinkedOutcome report = linked();
  report.section_address = 0xffffffffff000000;
  const ordered_json json = ordered_json::parse(json_text("a.out", report));
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
  LinkedOutcome report = linked();
  report.coverage.holes[0].function = "name\twith\\signs";
  const std::string text = json_text("two\nlines \"quoted\" \xff", report);
  EXPECT_EQ(text.find('\n'), text.size() - 1);
  const ordered_json json = ordered_json::parse(text);
  EXPECT_EQ(json["file"], "two\nlines \"quoted\" \xef\xbf\xbd");
  EXPECT_EQ(json["left_out"][0]["function"], "name\twith\\signs");
}

TEST(Json, Failure) {
  std::ostringstream out;
  write_json_failure("a.out", "failed", "a.out: not an ELF file", out);
  EXPECT_EQ(out.str(), "{\"file\":\"a.out\",\"status\":\"failed\",\"error\":\"not an ELF file\"}\n");
  out.str({});
  write_json_failure("dir", "failed", "dir/sub: cannot read: Permission denied", out);
  EXPECT_EQ(out.str(),
            "{\"file\":\"dir\",\"status\":\"failed\",\"error\":\"dir/sub: cannot read: Permission denied\"}\n");
}

TEST(Json, Verification) {
  Verification result;
  result.functions = 3;
  result.checked_pcs = 9;
  std::ostringstream out;
  write_json("a.out", result, out);
  EXPECT_EQ(ordered_json::parse(out.str())["status"], "verified");

  result.difference_count = 20;
  result.differences = {{.pc = 0x2030, .found = "CFA rsp+16", .expected = "CFA rsp+24"}};
  out.str({});
  write_json("a.out", result, out);
  const ordered_json json = ordered_json::parse(out.str());
  EXPECT_EQ(json["status"], "different");
  EXPECT_EQ(json["difference_count"], 20) << "all of them, though only the first are listed";
  EXPECT_EQ(json["differences"][0]["pc"], "0x2030");
  EXPECT_EQ(json["differences"][0]["text"], "pc 0x2030: .sframe says CFA rsp+16; DWARF says CFA rsp+24");
}

}  // namespace
}  // namespace sframe_gen::cli
