#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "sframe_gen/coverage.hpp"

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

}  // namespace
}  // namespace sframe_gen::test
