#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>

#include "code/assembled.hpp"
#include "code/check_cfi.hpp"
#include "code/decoder.hpp"
#include "elf/symbol_names.hpp"

namespace sframe_gen::code {
namespace {

/// A library whose CFI is compared with its code.
class Library {
 public:
  explicit Library(const std::string& name) : assembled_(name), check_(check_cfi(assembled_.image(), {})) {}

  const CodeCheck& check() const { return check_; }

  /// Names of functions, by start.
  std::map<std::uint64_t, std::string> names() const {
    std::map<std::uint64_t, std::string> names;
    elf::SymbolNames symbols(assembled_.image());
    for (const std::uint64_t start : elf::function_starts(assembled_.image())) names[start] = symbols.name_at(start);
    return names;
  }

 private:
  test::Assembled assembled_;
  CodeCheck check_;
};

/// What a name says after its two underscores, as reasons are spelled.
std::string expectation_of(const std::string& name) {
  const auto mark = name.find("__");
  std::string words = mark == std::string::npos ? "" : name.substr(mark + 2);
  std::ranges::replace(words, '_', '-');
  return words;
}

TEST(Proof, RefusesEachFunctionForItsReasonAndProvesItsTwin) {
  const Library library("conditions");
  std::map<std::uint64_t, std::string> reasons;
  for (const CodeCheck::Refused& refused : library.check().refused) reasons[refused.start] = refused.reason;
  std::size_t count = 0;
  for (const auto& [start, name] : library.names()) {
    const std::string expected = expectation_of(name);
    if (expected.empty() || name.ends_with(".cold")) continue;
    const auto found = reasons.find(start);
    EXPECT_EQ(found == reasons.end() ? "proved" : found->second, expected) << name;
    ++count;
  }
  EXPECT_EQ(count, 56U);
  for (const CodeCheck::Contradiction& found : library.check().contradictions)
    ADD_FAILURE() << found.function << ": " << found.cfi << ", " << found.code << ", " << found.instruction;
}

TEST(Proof, ContradictsWrongCfiAlone) {
  const Library library("contradictions");
  std::set<std::uint64_t> contradicted;
  for (const CodeCheck::Contradiction& found : library.check().contradictions) contradicted.insert(found.start);
  for (const auto& [start, name] : library.names())
    EXPECT_EQ(contradicted.contains(start) ? "wrong" : "right", expectation_of(name)) << name;
  EXPECT_TRUE(library.check().refused.empty());
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
}  // namespace sframe_gen::code
