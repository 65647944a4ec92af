#include "code/program.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "code/assembled.hpp"
#include "elf/symbol_names.hpp"

namespace sframe_gen::code {
namespace {

/// What is proved of a file without CFI.
class Undescribed {
 public:
  explicit Undescribed(const std::string& name, ProofOptions options)
      : assembled_(name), decoder_(name), program_(assembled_.image(), decoder_, {}, rules_, options) {
    program_.prove({});
  }

  /// Why the function with this name is refused.
  std::string result_of(const std::string& name) const {
    const auto named = elf::SymbolNames(assembled_.image()).find(name);
    for (const FunctionProof& function : program_.functions())
      if (named && function.start == named->begin) return name_of(function.refusal);
    return "not reached";
  }

 private:
  test::Assembled assembled_;
  Decoder decoder_;
  cfi::RuleTable rules_;
  Program program_;
};

TEST(Program, ReadsTablesByTheirContentsUnlessThatIsForbidden) {
  EXPECT_EQ(Undescribed("undescribed", {}).result_of("contents__proved"), "proved");
  EXPECT_EQ(Undescribed("undescribed", {.bounded_tables_only = true}).result_of("contents__proved"), "jump-table");
}

}  // namespace
}  // namespace sframe_gen::code
