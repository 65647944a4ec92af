#include "emit/unrepresentable.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace sframe_gen::test {
namespace {

using emit::Unrepresentable;

TEST(Unrepresentable, EveryReasonHasItsOwnKeyAndSentence) {
  std::vector<std::string_view> seen;
  for (std::size_t i = 0; i < emit::unrepresentable_count; ++i) {
    for (const std::string_view text :
         {emit::key_of(static_cast<Unrepresentable>(i)), emit::sentence_of(static_cast<Unrepresentable>(i))}) {
      EXPECT_FALSE(text.empty()) << i;
      EXPECT_EQ(std::count(seen.begin(), seen.end(), text), 0) << text;
      seen.push_back(text);
    }
  }
}

}  // namespace
}  // namespace sframe_gen::test
