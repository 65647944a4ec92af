#include "code/program.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "code/assembled.hpp"

namespace sframe_gen::code {
namespace {

/// What is proved of a file without CFI.
class Undescribed {
 public:
  explicit Undescribed(const std::string& name, ProofOptions options, const std::string& flags = "-shared")
      : assembled_(name, flags),
        decoder_(name),
        symbols_(assembled_.symbols()),
        program_(assembled_.image(), decoder_, {}, rules_, options) {
    program_.prove({});
  }

  const std::map<std::string, std::uint64_t>& symbols() const { return symbols_; }

  /// "proved", or why it is not, of the function with this name.
  std::string result_of(const std::string& name) const {
    const auto found = std::ranges::find(program_.functions(), symbols_.at(name), &FunctionProof::start);
    return found == program_.functions().end() ? "not-reached" : name_of(found->refusal);
  }

 private:
  test::Assembled assembled_;
  Decoder decoder_;
  std::map<std::string, std::uint64_t> symbols_;
  cfi::RuleTable rules_;
  Program program_;
};

TEST(Program, ReadsTablesByTheirContentsUnlessThatIsForbidden) {
  EXPECT_EQ(Undescribed("undescribed", {}).result_of("contents__proved"), "proved");
  EXPECT_EQ(Undescribed("undescribed", {.bounded_tables_only = true}).result_of("contents__proved"), "jump-table");
}

TEST(Program, BoundsWhatIsComparedAlone) {
  const Undescribed code("undescribed", {.bounded_tables_only = true});
  for (const char* const name : {"part__proved", "whole__proved", "byte_of_memory__proved"})
    EXPECT_EQ(code.result_of(name), "proved") << name;
  for (const char* const name :
       {"more_than_part__proved", "high_byte__proved", "more_than_byte__proved", "stored_between__proved"})
    EXPECT_EQ(code.result_of(name), "jump-table") << name;
}

TEST(Program, FindsFunctionsWithoutCfiByEvidence) {
  // Where words are filled in by relocations, by packed ones, or by the linker.
  for (const char* const flags :
       {"-shared", "-shared -z pack-relative-relocs", "-e caller__proved --unresolved-symbols=ignore-all"}) {
    const Undescribed code("undescribed", {.proves_undescribed = true},
                           std::string(flags) + " --section-start=.fixed=0x1000000");
    int count = 0;
    for (const auto& [name, address] : code.symbols()) {
      const auto mark = name.find("__");
      if (mark == std::string::npos || name.starts_with("_")) continue;
      std::string expected = name.substr(mark + 2);
      std::ranges::replace(expected, '_', '-');
      if (name.starts_with("in_number") && flags[1] == 'e') expected = "proved";
      EXPECT_EQ(code.result_of(name), expected) << name << ", linked with " << flags;
      ++count;
    }
    EXPECT_EQ(count, 40);
  }
}

}  // namespace
}  // namespace sframe_gen::code
