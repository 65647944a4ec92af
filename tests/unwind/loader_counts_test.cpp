// Which words of a dynamic loader are taken for its counts, and when.

#include "unwind/loader_counts.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace sframe_gen::unwind::test {
namespace {

/// A loader's writable segment, and what dl_iterate_phdr tells of it.
class Loader {
 public:
  explicit Loader(std::size_t words) : words_(words) {
    segment_.p_type = PT_LOAD;
    segment_.p_flags = PF_R | PF_W;
    segment_.p_vaddr = 0;
    segment_.p_memsz = words * sizeof words_[0];
    info_.dlpi_addr = reinterpret_cast<ElfW(Addr)>(words_.data());
    info_.dlpi_phdr = &segment_;
    info_.dlpi_phnum = 1;
  }

  std::uint32_t& word(std::size_t i) { return words_[i]; }
  std::vector<std::uint32_t>& words() { return words_; }

  /// glibc's: 64 and 32 bits.
  void set_counts(std::uint32_t loads, std::uint32_t files) {
    words_[loads_at] = loads;
    words_[files_at] = files;
  }
  void tell(LoaderCountFinder& finder, std::uint64_t loads, std::uint64_t files) {
    info_.dlpi_adds = loads;
    info_.dlpi_subs = loads - files;
    finder.look(info_);
  }
  void change(LoaderCountFinder& finder, std::uint32_t loads, std::uint32_t files) {
    set_counts(loads, files);
    tell(finder, loads, files);
  }

  static constexpr std::size_t loads_at = 10, files_at = 20;

 private:
  std::vector<std::uint32_t> words_;
  ElfW(Phdr) segment_{};
  dl_phdr_info info_{};
};

class LoaderCountsTest : public testing::Test {
 protected:
  Loader loader_{4096};
  LoaderCountFinder finder_;
};

TEST_F(LoaderCountsTest, AreUnknownUntilTheyWereSeenToChange) {
  EXPECT_FALSE(finder_.counts().are_unchanged());
  loader_.change(finder_, 7, 7);
  EXPECT_FALSE(finder_.counts().are_unchanged());
  loader_.tell(finder_, 7, 7);
  EXPECT_FALSE(finder_.counts().are_unchanged());
  loader_.change(finder_, 9, 9);
  EXPECT_TRUE(finder_.counts().are_unchanged());
}

TEST_F(LoaderCountsTest, ChangeWithEachFileThatComesOrGoes) {
  loader_.change(finder_, 7, 7);
  loader_.change(finder_, 9, 8);
  const LoaderCounts counts = finder_.counts();
  EXPECT_TRUE(counts.are_unchanged());
  loader_.set_counts(9, 7);
  EXPECT_FALSE(counts.are_unchanged());
  loader_.set_counts(10, 8);
  EXPECT_FALSE(counts.are_unchanged());
  loader_.tell(finder_, 10, 8);
  EXPECT_FALSE(counts.are_unchanged());
  EXPECT_TRUE(finder_.counts().are_unchanged());
}

TEST_F(LoaderCountsTest, BothHaveToChange) {
  loader_.change(finder_, 7, 7);
  loader_.change(finder_, 8, 7);
  EXPECT_FALSE(finder_.counts().are_unchanged());
  loader_.change(finder_, 9, 8);
  EXPECT_TRUE(finder_.counts().are_unchanged());
}

TEST_F(LoaderCountsTest, AreNotOtherWordsThatHappenToBeEqual) {
  for (std::size_t i = 30; i < 60; ++i) loader_.word(i) = 7;
  loader_.change(finder_, 7, 7);
  loader_.word(30) = 8;  // follows once
  loader_.change(finder_, 8, 8);
  EXPECT_TRUE(finder_.counts().are_unchanged());
  const LoaderCounts counts = finder_.counts();
  loader_.word(31) = 100;
  EXPECT_TRUE(counts.are_unchanged());
  // It might be the right one, as far as anybody knows; until it does not follow.
  loader_.word(30) = 100;
  EXPECT_FALSE(counts.are_unchanged());
  loader_.change(finder_, 9, 9);
  const LoaderCounts later = finder_.counts();
  loader_.word(30) = 101;
  EXPECT_TRUE(later.are_unchanged());
}

TEST_F(LoaderCountsTest, AreTwo) {
  for (std::uint32_t count = 7; count < 10; ++count) {
    loader_.word(3) = count;
    loader_.tell(finder_, count, count);
    EXPECT_FALSE(finder_.counts().are_unchanged());
  }
}

TEST_F(LoaderCountsTest, AreUnknownWhereWordsStopToFollow) {
  loader_.change(finder_, 7, 7);
  loader_.change(finder_, 9, 8);
  ASSERT_TRUE(finder_.counts().are_unchanged());
  loader_.set_counts(10, 9);
  loader_.tell(finder_, 10, 18);  // with another namespace
  EXPECT_FALSE(finder_.counts().are_unchanged());
  // From then on as in the beginning.
  loader_.change(finder_, 11, 10);
  EXPECT_FALSE(finder_.counts().are_unchanged());
  loader_.change(finder_, 12, 11);
  EXPECT_TRUE(finder_.counts().are_unchanged());
}

TEST_F(LoaderCountsTest, AreUnknownAmongTooMany) {
  std::fill(loader_.words().begin(), loader_.words().end(), 7);
  loader_.change(finder_, 7, 7);
  EXPECT_FALSE(finder_.counts().are_unchanged());
  // Those that all follow are too many to be asked for in each walk.
  const auto follow = [&](std::uint32_t count) {
    for (std::size_t i = 0; i + 1 < LoaderCounts::most_words; ++i) loader_.word(30 + i) = count;
    loader_.change(finder_, count, count);
  };
  follow(8);
  follow(9);
  EXPECT_FALSE(finder_.counts().are_unchanged());
  loader_.change(finder_, 10, 10);  // only the two
  EXPECT_TRUE(finder_.counts().are_unchanged());
}

}  // namespace
}  // namespace sframe_gen::unwind::test
