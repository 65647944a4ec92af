// Conversions that leave out the rows that code contradicts.

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "elf/symbol_names.hpp"
#include "rows/proof/assembled.hpp"
#include "sframe_gen/code_check.hpp"
#include "sframe_gen/convert.hpp"
#include "sframe_gen/find_rows.hpp"
#include "sframe_gen/section.hpp"
#include "sframe_gen/verify.hpp"
#include "support/folder.hpp"

namespace sframe_gen::rows::proof {
namespace {

using sframe_gen::test::Folder;

/// A library, converted by default and with --omit-disproved.
class Omission : public testing::TestWithParam<OutputFormat> {
 protected:
  LinkedOutcome convert(const std::filesystem::path& output, bool omit_disproved) const {
    ConvertOptions options;
    options.format = GetParam();
    options.omit_disproved = omit_disproved;
    return std::get<LinkedOutcome>(convert_file(library_, output, options));
  }

  static sframe::Section section_of(const std::filesystem::path& file) { return read_sections(file).at(0).section; }

  static std::optional<sframe::RecoveryRules> rules_at(const sframe::Section& section, std::uint64_t pc) {
    const sframe::Fde* const fde = sframe::find_fde(section, pc);
    const sframe::Fre* const fre = fde == nullptr ? nullptr : sframe::find_fre(*fde, pc - fde->start);
    return fre == nullptr ? std::nullopt : fre->recovery;
  }

  Folder folder_;
  test::Assembled assembled_{"contradictions"};
  std::filesystem::path library_ = assembled_.image().name();
};

TEST_P(Omission, LeavesOutExactlyTheContradictedPcs) {
  const Coverage usual = convert(folder_ / "usual.so", false).coverage;
  const Coverage omitted = convert(folder_ / "omitted.so", true).coverage;
  EXPECT_TRUE(usual.holes.empty());
  const sframe::Section before = section_of(folder_ / "usual.so"), after = section_of(folder_ / "omitted.so");
  const CodeCheck check = check_code(library_);
  ASSERT_FALSE(check.contradictions.empty());
  const auto is_contradicted = [&](std::uint64_t pc) {
    return std::ranges::any_of(check.contradictions, [&](const auto& c) { return c.begin <= pc && pc < c.end; });
  };
  std::uint64_t bytes = 0;
  elf::SymbolNames names(assembled_.image());
  const auto starts = elf::function_starts(assembled_.image());
  for (const std::uint64_t start : std::set(starts.begin(), starts.end())) {
    for (std::uint64_t pc = start; pc < names.symbol_at(start).value().end; ++pc) {
      const auto expected = is_contradicted(pc) ? std::nullopt : rules_at(before, pc);
      EXPECT_EQ(rules_at(after, pc), expected) << std::hex << pc;
      if (is_contradicted(pc)) ++bytes;
    }
  }
  const auto counted = omitted.reasons.find(Unrepresentable::ContradictedByCode);
  ASSERT_NE(counted, omitted.reasons.end());
  EXPECT_EQ(counted->second.bytes, bytes);
  EXPECT_EQ(counted->second.functions, check.contradicted_functions);
  EXPECT_EQ(omitted.functions, usual.functions);
}

TEST_P(Omission, IsNoDifferenceForVerify) {
  convert(folder_ / "omitted.so", true);
  const Verification verified = verify_file(folder_ / "omitted.so");
  EXPECT_EQ(verified.difference_count, 0U);
  EXPECT_EQ(verified.unchecked_count, 0U);
  EXPECT_NE(verified.left_out_rows, 0U);
}

OutputFormat compact_format() {
  OutputFormat format;
  format.compact_rows = 32;
  return format;
}

INSTANTIATE_TEST_SUITE_P(Formats, Omission, testing::Values(OutputFormat{}, compact_format()),
                         [](const auto& one) { return one.index == 0 ? "Usual" : "Compact"; });

TEST(OmissionOfRefused, LeavesOutWhatBeginsWrong) {
  const Folder folder;
  const test::Assembled assembled("ways_in");
  ConvertOptions options;
  options.omit_disproved = true;
  convert_file(assembled.image().name(), folder / "out.so", options);
  const sframe::Section section = read_sections(folder / "out.so").at(0).section;
  const auto has_row = [&](const std::string& name, std::uint64_t offset) {
    const std::uint64_t pc = elf::SymbolNames(assembled.image()).find(name).value().begin + offset;
    const sframe::Fde* const fde = sframe::find_fde(section, pc);
    return fde != nullptr && sframe::find_fre(*fde, pc - fde->start) != nullptr;
  };
  constexpr std::uint64_t after_the_jump = 9;
  EXPECT_FALSE(has_row("leads_out__wrong", after_the_jump));
  EXPECT_TRUE(has_row("leads_out__right", after_the_jump));
  // Of an entry in the midst of an FDE, the rows after the jump may be those of other code.
  EXPECT_FALSE(has_row("entry__wrong", 0));
  EXPECT_TRUE(has_row("part__right", 0));
}

TEST(OmissionRefuses, WhatItCannotFollow) {
  const Folder folder;
  const test::Assembled assembled("contradictions");
  const std::filesystem::path library = assembled.image().name();
  ConvertOptions options;
  options.omit_disproved = true;
  const auto refusal_of = [&](const std::filesystem::path& input) -> std::string {
    try {
      convert_file(input, folder / "out", options);
    } catch (const Refused& refused) {
      return refused.what();
    }
    return "";
  };
  const std::string object = (library.parent_path() / "a.o").string();
  EXPECT_EQ(refusal_of(object), object + ": --omit-disproved requires a linked file (link the object)");
  options.from_section = true;
  EXPECT_EQ(refusal_of(library), library.string() + ": --omit-disproved cannot be combined with --from-sframe");
}

}  // namespace
}  // namespace sframe_gen::rows::proof
