#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "sframe_gen/coverage.hpp"
#include "sframe_gen/encode.hpp"

namespace sframe_gen::test {
namespace {

TEST(Unrepresentable, EveryReasonHasItsOwnKeyAndSentence) {
  std::vector<std::string_view> seen;
  for (std::size_t i = 0; i < unrepresentable_count; ++i) {
    for (const std::string_view text :
         {key_of(static_cast<Unrepresentable>(i)), sentence_of(static_cast<Unrepresentable>(i))}) {
      EXPECT_FALSE(text.empty()) << i;
      EXPECT_EQ(std::count(seen.begin(), seen.end(), text), 0) << text;
      seen.push_back(text);
    }
  }
}

TEST(Unrepresentable, UnknownReasonsHaveWords) {
  for (const std::size_t number : {unrepresentable_count, std::size_t{255}}) {
    const auto unknown = static_cast<Unrepresentable>(number);
    EXPECT_EQ(key_of(unknown), "unknown");
    EXPECT_EQ(sentence_of(unknown), "unknown reason");
  }
  const CannotRepresent failure("jit", 0x10, static_cast<Unrepresentable>(255), static_cast<sframe::Version>(9));
  EXPECT_STREQ(failure.what(), "jit: row at 0x10 that an unknown version cannot represent: unknown reason");
}

}  // namespace
}  // namespace sframe_gen::test
