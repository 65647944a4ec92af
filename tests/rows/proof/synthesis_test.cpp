// Rows for code without call frame information.

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "elf/symbol_names.hpp"
#include "rows/proof/cases.hpp"
#include "sframe_gen/convert.hpp"
#include "sframe_gen/find_rows.hpp"
#include "sframe_gen/section.hpp"
#include "support/folder.hpp"

namespace sframe_gen::rows::proof {
namespace {

/// A library of functions with and without CFI, converted.
class Synthesized : public testing::TestWithParam<bool> {
 protected:
  explicit Synthesized(const std::string& name = "synthesis") : assembled_(name) {
    ConvertOptions options;
    options.synthesize = true;
    options.count_code = true;
    if (GetParam()) options.format.compact_rows = 32;
    coverage_ = std::get<LinkedOutcome>(convert_file(library(), folder_ / "out.so", options)).coverage;
    section_ = read_sections(folder_ / "out.so").at(0).section;
  }

  std::filesystem::path library() const { return assembled_.image().name(); }

  elf::SymbolNames::Named place_of(const std::string& name) const {
    return elf::SymbolNames(assembled_.image()).find(name).value();
  }

  /// The rules at each offset of a function.
  std::map<std::uint64_t, sframe::RecoveryRules> rows_of(const std::string& name) const {
    const auto function = place_of(name);
    std::map<std::uint64_t, sframe::RecoveryRules> rows;
    for (std::uint64_t pc = function.begin; pc < function.end; ++pc) {
      if (const auto* const rules = rules_at(pc)) rows[pc - function.begin] = *rules;
    }
    return rows;
  }

  /// Null: there is no row.
  const sframe::RecoveryRules* rules_at(std::uint64_t pc) const {
    const sframe::Fde* const fde = sframe::find_fde(section_, pc);
    const sframe::Fre* const fre = fde == nullptr ? nullptr : sframe::find_fre(*fde, pc - fde->start);
    return fre == nullptr || !fre->recovery ? nullptr : &*fre->recovery;
  }

  sframe_gen::test::Folder folder_;
  test::Assembled assembled_;
  Coverage coverage_;
  sframe::Section section_;
};

TEST_P(Synthesized, HasTheRowsThatCfiGives) {
  for (const std::string name : {"leaf", "pushes", "frame", "branches", "pointer", "spill"}) {
    const auto described = rows_of(name + "__described"), hidden = rows_of(name + "__hidden");
    EXPECT_FALSE(described.empty()) << name;
    EXPECT_EQ(hidden, described) << name;
  }
}

TEST_P(Synthesized, HasTheSlotOfTheFramePointerWherePathsAreNotFollowed) {
  const auto described = rows_of("twice__described"), hidden = rows_of("twice__hidden");
  for (const auto& [offset, rules] : hidden) EXPECT_EQ(rules, described.at(offset)) << offset;
  constexpr std::uint64_t behind_call = 11, meeting = 17;  // endbr64; xor %eax,%eax
  EXPECT_FALSE(hidden.contains(behind_call));
  EXPECT_TRUE(hidden.contains(meeting));
}

TEST_P(Synthesized, HasNoRowsWhereNeitherStackNorFramePointerLeads) {
  const auto rows = rows_of("realigned__part");
  EXPECT_TRUE(rows.contains(0));
  EXPECT_TRUE(rows.contains(5));   // and $-32,%rsp
  EXPECT_FALSE(rows.contains(9));  // push -8(%r10)
  EXPECT_TRUE(rows_of("unknown_target__refused").empty());
  EXPECT_TRUE(rows_of("endless__refused").empty());
}

TEST_P(Synthesized, HasNoRowsWhereOnlyAJumpLeadsThatMayNeverBeTaken) {
  EXPECT_TRUE(rows_of("unlikely_default__part").contains(1));
  EXPECT_TRUE(rows_of("another.cold").empty());
}

TEST_P(Synthesized, HasNoRowsWhereARefusedFunctionComesWithAnotherDepth) {
  const auto rows = rows_of("shared_with_deeper__part");
  EXPECT_TRUE(rows.contains(0));
  EXPECT_FALSE(rows.contains(1));
  EXPECT_FALSE(rows.contains(4));
  EXPECT_EQ(rows_of("shared_with_as_deep__hidden").size(), 5U);
}

TEST_P(Synthesized, CountsWhatIsProvedAndRefused) {
  const SynthesisCoverage& synthesized = coverage_.synthesized;
  EXPECT_EQ(synthesized.functions, 11U);
  EXPECT_EQ(synthesized.refused,
            (std::map<std::string, std::uint64_t>{{"indirect-jump", 1}, {"no-return", 1}, {"undecodable", 2}}));
  EXPECT_EQ(synthesized.found.size(), 15U);
  EXPECT_EQ(coverage_.code->sources.at(RowSource::Proof).bytes, synthesized.bytes);
  EXPECT_EQ(coverage_.code->sources.at(RowSource::EhFrame).records, 7U);
  const auto refused = place_of("unknown_target__refused");
  const auto found = std::ranges::find(synthesized.found, refused.begin, &SynthesisCoverage::Function::start);
  ASSERT_NE(found, synthesized.found.end());
  EXPECT_EQ(found->refusal, "indirect-jump");
  EXPECT_EQ(found->refused_at, refused.begin + 1);
}

class Uncertain : public Synthesized {
 protected:
  Uncertain() : Synthesized("uncertain") {}
};

TEST_P(Uncertain, PlacesHaveNoRow) {
  const test::Cases cases(assembled_);
  for (const auto& [symbol, expected] : cases.all())
    EXPECT_EQ(rules_at(expected.address) == nullptr ? "none" : "row", expected.result) << symbol;
  EXPECT_EQ(cases.pairs("row", [](const std::string& name) { ADD_FAILURE() << name << " is no pair"; }), 29U);
}

INSTANTIATE_TEST_SUITE_P(Formats, Uncertain, testing::Bool(),
                         [](const auto& one) { return one.param ? "Compact" : "Usual"; });
INSTANTIATE_TEST_SUITE_P(Formats, Synthesized, testing::Bool(),
                         [](const auto& one) { return one.param ? "Compact" : "Usual"; });

TEST(Synthesis, IsOffByDefault) {
  const sframe_gen::test::Folder folder;
  const test::Assembled assembled("synthesis");
  const auto outcome = std::get<LinkedOutcome>(convert_file(assembled.image().name(), folder / "out.so"));
  EXPECT_EQ(outcome.coverage.functions, 7U);
  EXPECT_EQ(outcome.coverage.synthesized.functions, 0U);
}

}  // namespace
}  // namespace sframe_gen::rows::proof
