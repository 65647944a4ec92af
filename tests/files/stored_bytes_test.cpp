#include "files/stored_bytes.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <vector>

namespace sframe_gen::files {
namespace {

constexpr std::size_t page = 4096;

/// Several buffers, and no whole number of pages.
constexpr std::size_t size = (std::size_t{1} << 20) + 12345;

class ReadPiece : public testing::Test {
 protected:
  ReadPiece() : descriptor_(::memfd_create("test", MFD_CLOEXEC)), bytes_(size), buffer_(std::size_t{1} << 18) {
    for (std::size_t i = 0; i < bytes_.size(); ++i) bytes_[i] = static_cast<std::byte>(i * 7 + i / page);
    EXPECT_EQ(::pwrite(descriptor_, bytes_.data(), bytes_.size(), 0), static_cast<ssize_t>(bytes_.size()));
  }
  ~ReadPiece() override { ::close(descriptor_); }

  std::span<const std::byte> read(std::uint64_t from, std::size_t wanted) {
    return read_piece(descriptor_, from, std::span(buffer_).first(std::min(wanted, buffer_.size())));
  }

  int descriptor_;
  std::vector<std::byte> bytes_;
  std::vector<std::byte> buffer_;
};

TEST_F(ReadPiece, TogetherAreTheFile) {
  for (const std::size_t begin : {std::size_t{0}, std::size_t{1}, page - 1, size - page, size - 1}) {
    std::size_t at = begin;
    while (at < size) {
      const auto piece = read(at, size);
      ASSERT_FALSE(piece.empty()) << at;
      ASSERT_TRUE(std::equal(piece.begin(), piece.end(), bytes_.begin() + static_cast<std::ptrdiff_t>(at))) << at;
      at += piece.size();
    }
    EXPECT_EQ(at, size);
  }
}

TEST_F(ReadPiece, NoMoreThanWanted) {
  EXPECT_EQ(read(5000, 10).size(), 10U);
  const auto next = read(5010, 100);
  ASSERT_EQ(next.size(), 100U);
  EXPECT_EQ(next[0], bytes_[5010]);
}

TEST_F(ReadPiece, AfterTheEndIsNone) {
  EXPECT_TRUE(read(size, 10).empty());
  EXPECT_EQ(errno, 0);
}

TEST_F(ReadPiece, WhatIsCutOffMeanwhileIsNone) {
  ASSERT_FALSE(read(0, 100).empty());
  ASSERT_EQ(::ftruncate(descriptor_, 10 * page), 0);
  EXPECT_TRUE(read(20 * page, 100).empty());
  EXPECT_EQ(errno, 0);
  EXPECT_EQ(read(9 * page, 2 * page).size(), page);
}

TEST_F(ReadPiece, SaysWhyNothingCanBeRead) {
  EXPECT_TRUE(read_piece(-1, 0, buffer_).empty());
  EXPECT_EQ(errno, EBADF);
}

TEST(NextStored, FindsWhatIsBetweenHoles) {
  const int descriptor = ::memfd_create("test", MFD_CLOEXEC);
  ASSERT_EQ(::ftruncate(descriptor, 1 << 20), 0);
  ASSERT_EQ(::pwrite(descriptor, "x", 1, 1 << 19), 1);
  const Range stored = next_stored(descriptor, 0, 1 << 20);
  EXPECT_LE(stored.begin, 1U << 19);
  EXPECT_GT(stored.end, 1U << 19);
  EXPECT_LT(stored.end - stored.begin, 1U << 17);
  const Range none = next_stored(descriptor, stored.end, 1 << 20);
  EXPECT_EQ(none.begin, 1U << 20);
  EXPECT_EQ(none.end, 1U << 20);
  ::close(descriptor);
}

}  // namespace
}  // namespace sframe_gen::files
