#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>

#include "rows/proof/cases.hpp"
#include "rows/proof/file_proof.hpp"

namespace sframe_gen::rows::proof {
namespace {

/// A library whose CFI is compared with its code.
class Library {
 public:
  explicit Library(const std::string& name)
      : assembled_(name), cases_(assembled_), check_(check_cfi(assembled_.image(), {})) {}

  const CodeCheck& check() const { return check_; }
  const test::Cases& cases() const { return cases_; }
  /// Expects that there are so many cases, each with a twin whose result is `good`.
  void expect_pairs(std::size_t count, const std::string& good) const {
    EXPECT_EQ(cases_.pairs(good, [](const std::string& name) { ADD_FAILURE() << name << " is no pair"; }), count);
  }

 private:
  test::Assembled assembled_;
  test::Cases cases_;
  CodeCheck check_;
};

TEST(Proof, RefusesEachFunctionForItsReasonAndProvesItsTwin) {
  const Library library("conditions");
  std::map<std::uint64_t, std::string> reasons;
  for (const CodeCheck::Refused& refused : library.check().refused) reasons[refused.start] = refused.reason;
  for (const auto& [symbol, expected] : library.cases().all()) {
    const auto found = reasons.find(expected.address);
    EXPECT_EQ(found == reasons.end() ? "proved" : found->second, expected.result) << symbol;
  }
  library.expect_pairs(62, "proved");
  // Most of those that are refused have no CFI for what they do.
  for (const CodeCheck::Contradiction& found : library.check().contradictions)
    if (!reasons.contains(found.start))
      ADD_FAILURE() << found.function << ": " << found.cfi << ", " << found.code << ", " << found.instruction;
}

TEST(Proof, ContradictsWrongCfiAlone) {
  const Library library("contradictions");
  std::map<std::uint64_t, std::string> results;
  for (const CodeCheck::Contradiction& found : library.check().doubted) results[found.start] = "doubted";
  for (const CodeCheck::Contradiction& found : library.check().contradictions) results[found.start] = "wrong";
  for (const auto& [symbol, expected] : library.cases().all()) {
    const auto found = results.find(expected.address);
    EXPECT_EQ(found == results.end() ? "right" : found->second, expected.result) << symbol;
  }
  library.expect_pairs(23, "wrong");
  EXPECT_TRUE(library.check().refused.empty());
}

TEST(Proof, ContradictsWrongCfiOnTheWayIn) {
  const Library library("ways_in");
  std::set<std::uint64_t> contradicted, refused;
  for (const CodeCheck::Contradiction& found : library.check().contradictions) contradicted.insert(found.start);
  for (const CodeCheck::Refused& found : library.check().refused) refused.insert(found.start);
  for (const auto& [symbol, expected] : library.cases().all()) {
    EXPECT_EQ(contradicted.contains(expected.address) ? "wrong" : "right", expected.result) << symbol;
    EXPECT_EQ(refused.contains(expected.address), expected.name != "caller") << symbol;
  }
}

TEST(Proof, NamesPcRuleCodeAndInstruction) {
  const Library library("contradictions");
  const auto& all = library.check().contradictions;
  const auto found = std::ranges::find(all, "late__wrong", &CodeCheck::Contradiction::function);
  ASSERT_NE(found, all.end());
  EXPECT_EQ(found->begin, found->start + 4);
  EXPECT_EQ(found->end, found->start + 6);
  EXPECT_EQ(found->cfi, "CFA rsp+8");
  EXPECT_EQ(found->code, "that is CFA-24");
  EXPECT_TRUE(found->instruction.ends_with(": sub rsp, 0x18")) << found->instruction;
  const auto jumped_to = std::ranges::find(all, "reached__wrong", &CodeCheck::Contradiction::function);
  ASSERT_NE(jumped_to, all.end());
  EXPECT_NE(jumped_to->instruction.find(": jz "), std::string::npos) << jumped_to->instruction;
}

TEST(Proof, IsOfNoKernel) {
  const auto refusal_of = [](const elf::Image& image) -> std::string {
    try {
      check_cfi(image, {});
    } catch (const Refused& refused) {
      return refused.what();
    }
    return "";
  };
  const std::string why = ": --against=code supports programs and libraries, not kernels and their modules";
  const test::Assembled kernel("contradictions",
                               "-Ttext=0xffffffff81000000 -e late__wrong --unresolved-symbols=ignore-all");
  EXPECT_EQ(refusal_of(kernel.image()), kernel.image().name() + why);
}

}  // namespace
}  // namespace sframe_gen::rows::proof
