#include "trace/record/file_openings.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>

#include <future>
#include <memory>

namespace sframe_gen::test {
namespace {

Descriptor any_file() {
  return Descriptor(::open("/dev/null", O_RDONLY | O_CLOEXEC));  // NOLINT(cppcoreguidelines-pro-type-vararg)
}

/// Files that are opened at once, not at all, or when they are told to.
class FileOpenings : public testing::Test {
 protected:
  ~FileOpenings() override { go_.set_value(); }

  std::shared_ptr<trace::FileOpening> begin(std::uint64_t device) {
    return openings_.begin(device, [](const trace::FileOpening&) { return any_file(); });
  }
  std::shared_ptr<trace::FileOpening> begin_silent(std::uint64_t device) {
    return openings_.begin(device, [may_go = may_go_](const trace::FileOpening&) {
      may_go.wait();
      return any_file();
    });
  }

  std::promise<void> go_;
  const std::shared_future<void> may_go_ = go_.get_future().share();
  trace::FileOpenings openings_;
};

TEST_F(FileOpenings, AnswerWithTheFile) {
  EXPECT_TRUE(begin(1)->wait()->is_open());
  const auto failed = openings_.begin(1, [](const trace::FileOpening&) { return Descriptor(); });
  EXPECT_FALSE(failed->wait()->is_open());
  EXPECT_TRUE(failed->has_failed());
}

TEST_F(FileOpenings, OfADeviceEndWithTheOneThatDoesNotAnswerForASecond) {
  const auto silent = begin_silent(1);
  EXPECT_FALSE(silent->is_answered());
  EXPECT_NE(begin(1), nullptr);
  EXPECT_EQ(silent->wait(), nullptr);
  EXPECT_TRUE(silent->is_over());
  EXPECT_EQ(begin(1), nullptr);
  EXPECT_NE(begin(2), nullptr);
}

TEST_F(FileOpenings, AreNotMoreThanAreWaitedFor) {
  for (std::uint64_t device = 0; device < trace::FileOpenings::most; ++device) EXPECT_NE(begin_silent(device), nullptr);
  EXPECT_EQ(begin(1000), nullptr);
}

}  // namespace
}  // namespace sframe_gen::test
