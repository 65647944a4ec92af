#include "rows/proof/neighbors.hpp"

#include <gtest/gtest.h>

#include "rows/proof/assembled.hpp"

namespace sframe_gen::rows::proof {
namespace {

/// A program without CFI, and the borders of a function in it that has not been followed.
class BordersOf : public testing::Test {
 protected:
  std::uint64_t at(const std::string& name) const { return assembled_.symbols().at(name); }

  test::Assembled assembled_{"uncertain"};
  Decoder decoder_{"uncertain"};
  cfi::RuleTable rules_;
  Program program_{assembled_.image(), decoder_, {}, rules_, {.proves_undescribed = true}};
  Borders borders_{program_, program_.own_of(at("before_begin"))};
};

TEST_F(BordersOf, AFunctionAreWhereAnotherOneBegins) {
  EXPECT_TRUE(borders_.ends_at(at("no_begin")));
  EXPECT_TRUE(borders_.begins_another(at("no_begin"), State::at_entry()));
  EXPECT_FALSE(borders_.ends_at(at("before_begin") + 1));
}

TEST_F(BordersOf, AFunctionMayBeAfterACallWhereAnEndbr64Is) {
  EXPECT_TRUE(borders_.may_begin_after_call(at("begins__none"), false));
  EXPECT_FALSE(borders_.may_begin_after_call(at("begins__none"), true));
  EXPECT_FALSE(borders_.may_begin_after_call(at("follows__row"), false));
  program_.marks().mark_taken(at("follows__row"));
  EXPECT_TRUE(borders_.may_begin_after_call(at("follows__row"), true));
}

}  // namespace
}  // namespace sframe_gen::rows::proof
