#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "emit/all_reasons.hpp"
#include "sframe_gen/coverage.hpp"
#include "sframe_gen/encode.hpp"

namespace sframe_gen::test {
namespace {

TEST(Unrepresentable, EveryReasonHasItsOwnKeyAndSentence) {
  std::vector<std::string_view> seen;
  for (const Unrepresentable reason : all_reasons()) {
    for (const std::string_view text : {key_of(reason), sentence_of(reason)}) {
      EXPECT_FALSE(text.empty()) << static_cast<int>(reason);
      EXPECT_EQ(std::count(seen.begin(), seen.end(), text), 0) << text;
      seen.push_back(text);
    }
  }
}

TEST(Unrepresentable, UnknownReasonsHaveWords) {
  ASSERT_GT(all_reasons().size(), 20U);
  for (const std::size_t number : {all_reasons().size(), std::size_t{255}}) {
    const auto unknown = static_cast<Unrepresentable>(number);
    EXPECT_EQ(key_of(unknown), "unknown");
    EXPECT_EQ(sentence_of(unknown), "unknown reason");
  }
  const CannotRepresent failure("jit", 0x10, static_cast<Unrepresentable>(255), static_cast<sframe::Version>(9));
  EXPECT_STREQ(failure.what(), "jit: row at 0x10 that an unknown version cannot represent: unknown reason");
}

}  // namespace
}  // namespace sframe_gen::test
