#include "files/file_pieces.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <vector>

namespace sframe_gen::files {
namespace {

constexpr std::size_t page = 4096;

/// Several pieces of either size, and no whole number of pages.
constexpr std::size_t size = (std::size_t{1} << 20) + 12345;

class FilePiecesTest : public testing::Test {
 protected:
  FilePiecesTest() : descriptor_(::memfd_create("test", MFD_CLOEXEC)), bytes_(size) {
    for (std::size_t i = 0; i < bytes_.size(); ++i) bytes_[i] = static_cast<std::byte>(i * 7 + i / page);
    write();
  }
  ~FilePiecesTest() override { ::close(descriptor_); }

  void write() const {
    EXPECT_EQ(::pwrite(descriptor_, bytes_.data(), bytes_.size(), 0), static_cast<ssize_t>(bytes_.size()));
  }

  int descriptor_;
  std::vector<std::byte> bytes_;
  PieceBuffer buffer_;
};

TEST_F(FilePiecesTest, TogetherAreTheFile) {
  for (const std::size_t most : {FilePieces::for_a_look, FilePieces::for_a_write}) {
    for (const std::size_t begin : {std::size_t{0}, std::size_t{1}, page - 1, size - page, size - 1}) {
      FilePieces pieces(descriptor_, buffer_, most);
      std::size_t at = begin;
      while (at < size) {
        const auto piece = pieces.piece(at, size - at);
        ASSERT_FALSE(piece.empty()) << at;
        ASSERT_LE(piece.size(), most);
        ASSERT_TRUE(std::equal(piece.begin(), piece.end(), bytes_.begin() + static_cast<std::ptrdiff_t>(at))) << at;
        at += piece.size();
      }
      EXPECT_EQ(at, size);
    }
  }
}

TEST_F(FilePiecesTest, NoMoreThanWanted) {
  FilePieces pieces(descriptor_, buffer_);
  EXPECT_EQ(pieces.piece(5000, 10).size(), 10U);
  const auto next = pieces.piece(5010, 100);
  ASSERT_EQ(next.size(), 100U);
  EXPECT_EQ(next[0], bytes_[5010]);
}

TEST_F(FilePiecesTest, BehindTheEndIsNone) {
  FilePieces pieces(descriptor_, buffer_);
  EXPECT_TRUE(pieces.piece(size, 10).empty());
  EXPECT_EQ(errno, 0);
}

TEST_F(FilePiecesTest, WhatIsCutOffMeanwhileIsNone) {
  FilePieces pieces(descriptor_, buffer_);
  ASSERT_FALSE(pieces.piece(0, 100).empty());
  ASSERT_EQ(::ftruncate(descriptor_, 10 * page), 0);
  EXPECT_TRUE(pieces.piece(20 * page, 100).empty());
  EXPECT_EQ(errno, 0);
  EXPECT_EQ(pieces.piece(9 * page, 2 * page).size(), page);
}

TEST(FilePieces, SaysWhyNothingCanBeRead) {
  PieceBuffer buffer;
  FilePieces pieces(-1, buffer);
  EXPECT_TRUE(pieces.piece(0, 10).empty());
  EXPECT_EQ(errno, EBADF);
}

}  // namespace
}  // namespace sframe_gen::files
