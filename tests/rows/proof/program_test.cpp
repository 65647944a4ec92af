#include "rows/proof/program.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "elf/go_file.hpp"
#include "rows/proof/cases.hpp"
#include "rows/proof/prove_program.hpp"
#include "sframe/format.hpp"
#include "sframe_gen/convert.hpp"
#include "sframe_gen/find_rows.hpp"
#include "sframe_gen/section.hpp"

namespace sframe_gen::rows::proof {
namespace {

/// What is proved of a file without CFI.
class Undescribed {
 public:
  explicit Undescribed(const std::string& name, ProofOptions options, const std::string& flags = "-shared")
      : assembled_(name, flags),
        decoder_(name),
        cases_(assembled_),
        program_(assembled_.image(), decoder_, {}, rules_, options) {
    prove_program(program_, {});
  }

  const test::Cases& cases() const { return cases_; }

  /// "proved", or why it is not, of the function with this symbol.
  std::string result_of(const std::string& symbol) const {
    const auto found = std::ranges::find(program_.functions(), cases_.all().at(symbol).address, &FunctionProof::start);
    return found == program_.functions().end() ? "not-reached" : name_of(found->refusal);
  }

 private:
  test::Assembled assembled_;
  Decoder decoder_;
  test::Cases cases_;
  cfi::RuleTable rules_;
  Program program_;
};

void expect_pairs(const test::Cases& cases, std::size_t count) {
  EXPECT_EQ(cases.pairs("proved", [](const std::string& name) { ADD_FAILURE() << name << " is no pair"; }), count);
}

TEST(Program, ReadsTablesByTheirContentsUnlessThatIsForbidden) {
  EXPECT_EQ(Undescribed("undescribed", {}).result_of("contents__proved"), "proved");
  EXPECT_EQ(Undescribed("undescribed", {.bounded_tables_only = true}).result_of("contents__proved"), "jump-table");
}

TEST(Program, BoundsWhatIsComparedAlone) {
  const Undescribed code("bounds", {.bounded_tables_only = true});
  for (const auto& [symbol, expected] : code.cases().all())
    EXPECT_EQ(code.result_of(symbol), expected.result) << symbol;
  expect_pairs(code.cases(), 7);
}

TEST(Program, FindsFunctionsWithoutCfiByEvidence) {
  // Where words are filled in by relocations, by packed ones, or by the linker.
  for (const std::string flags :
       {"-shared", "-shared -z pack-relative-relocs", "-e caller --unresolved-symbols=ignore-all"}) {
    const Undescribed code("undescribed", {.proves_undescribed = true}, flags + " --section-start=.fixed=0x1000000");
    const bool is_fixed = flags[1] == 'e';
    for (const auto& [symbol, expected] : code.cases().all()) {
      const std::string result = code.result_of(symbol);
      if (expected.result == "label") {
        EXPECT_NE(result, "proved") << symbol << ", linked with " << flags;
      } else {
        const bool is_address = is_fixed && symbol == "number__not_reached";
        EXPECT_EQ(result, is_address ? "proved" : expected.result) << symbol << ", linked with " << flags;
      }
    }
    expect_pairs(code.cases(), 28);
  }
}

TEST(Program, ProvesByImportsOnlyWhatACallHasEntered) {
  for (const auto& [name, pairs] : std::map<std::string, std::size_t>{{"imports", 2}, {"foreign_imports", 2}}) {
    const Undescribed code(name, {.proves_undescribed = true});
    for (const auto& [symbol, expected] : code.cases().all())
      EXPECT_EQ(code.result_of(symbol), expected.result) << symbol << " of " << name;
    expect_pairs(code.cases(), pairs);
  }
}

TEST(Program, KnowsThatNothingCallsItsEntryPointNorComesBackFromExit) {
  const Undescribed code("entry_point", {.proves_undescribed = true}, "-e start__entry_point");
  for (const auto& [symbol, expected] : code.cases().all())
    EXPECT_EQ(code.result_of(symbol), expected.result) << symbol;
  expect_pairs(code.cases(), 3);
}

TEST(Program, ProvesWhatItBeginsWithByTheFirstCall) {
  const Undescribed code("begin_of_program", {.proves_undescribed = true}, "-e begin__entry_point");
  for (const auto& [symbol, expected] : code.cases().all())
    EXPECT_EQ(code.result_of(symbol), expected.result) << symbol;
  expect_pairs(code.cases(), 7);
}

TEST(Program, HasARowWhereItCallsMain) {
  const test::Assembled program("begin_of_program", "-e begin__entry_point");
  ConvertOptions options;
  options.synthesize = true;
  constexpr std::uint64_t address = 0x10000000;
  const auto bytes = translate(program.image().file_bytes(), "program", address, options).bytes;
  const sframe::Section section = sframe::decode(bytes, address, {"program", ".sframe"});
  const std::uint64_t main_call = program.symbols().at("main_call");
  const sframe::Fde* const fde = sframe::find_fde(section, main_call);
  ASSERT_NE(fde, nullptr);
  const sframe::Fre* const fre = sframe::find_fre(*fde, main_call - fde->start);
  ASSERT_TRUE(fre != nullptr && fre->recovery);
  EXPECT_EQ(fre->recovery->cfa, sframe::Rule::register_plus(sframe::amd64_traits.stack_pointer, 32));
}

/// Starts of the functions that are found in a program whose entry calls another function. `depths`: what Go's table
/// says of that, if it does.
std::size_t functions_found(const std::vector<std::pair<int, unsigned>>& depths) {
  const elf::test::Described entry{{0xe8, 0x0b, 0, 0, 0, 0xc3}, {}, 0, "entry"};
  const elf::test::GoFile file({entry, {{0x50, 0x58, 0xc3}, depths}, {{0xc3}, {{0, 1}}}},
                               {.entry = elf::test::text_address});
  const elf::Image image = elf::Image::of_bytes(file.bytes, "go");
  const Decoder decoder("go");
  const cfi::RuleTable rules;
  Program program(image, decoder, {}, rules, {.proves_undescribed = true});
  prove_program(program, {});
  return program.functions().size();
}

TEST(Program, LeavesFunctionsOfGoToTheirTable) {
  EXPECT_EQ(functions_found({}), 2U);
  EXPECT_EQ(functions_found({{0, 1}, {8, 1}, {0, 1}}), 1U);
}

}  // namespace
}  // namespace sframe_gen::rows::proof
