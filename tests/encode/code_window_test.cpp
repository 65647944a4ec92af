// Code is read from the file through a window, and must be what the mapping has.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>

#include "encode/padding.hpp"
#include "sframe_gen/error.hpp"
#include "support/folder.hpp"
#include "support/mapped_file.hpp"

namespace sframe_gen::test {
namespace {

constexpr std::size_t size = 300'000;

class CodeWindowTest : public testing::Test {
 protected:
  CodeWindowTest() : path_(folder_ / "code") {
    std::string code(size, '\0');
    for (std::size_t i = 0; i < size; ++i) code[i] = static_cast<char>(i * 7 >> 3U);
    std::ofstream(path_, std::ios::binary) << code;
    file_.emplace(path_);
  }

  /// Whether the window gives what the mapping has there.
  bool is_same(encode::CodeWindow& window, std::size_t begin, std::size_t count) const {
    const auto mapped = file_->bytes().subspan(begin, count);
    return std::ranges::equal(window.read(mapped), mapped);
  }

  Folder folder_;
  std::filesystem::path path_;
  std::optional<MappedFile> file_;
};

TEST_F(CodeWindowTest, HasTheBytesOfTheFile) {
  encode::CodeWindow window(&*file_);
  for (std::size_t begin = 0; begin + 100 < size; begin += 777) ASSERT_TRUE(is_same(window, begin, begin % 100));
  EXPECT_TRUE(is_same(window, size - 10, 10)) << "up to the end of the file";
  EXPECT_TRUE(is_same(window, 5, 10)) << "and back";
  EXPECT_TRUE(is_same(window, 65'530, 20)) << "over the end of what was read";
  EXPECT_TRUE(is_same(window, 65'530, 65'536));
  EXPECT_TRUE(is_same(window, 1, 200'000)) << "more than is read at once";
}

TEST_F(CodeWindowTest, ReadsAheadInsteadOfMapping) {
  encode::CodeWindow window(&*file_);
  const auto first = window.read(file_->bytes().subspan(1000, 4)), next = window.read(file_->bytes().subspan(9000, 4));
  EXPECT_EQ(next.data() - first.data(), 8000);
  EXPECT_NE(first.data(), file_->bytes().data() + 1000);
}

// A read of the mapping would be the end of the process (SIGBUS).
TEST_F(CodeWindowTest, SaysThatAFileHasBecomeShorter) {
  encode::CodeWindow window(&*file_);
  std::filesystem::resize_file(path_, 5000);
  EXPECT_TRUE(std::ranges::equal(window.read(file_->bytes().subspan(4990, 10)), file_->bytes().subspan(4990, 10)));
  EXPECT_THROW(window.read(file_->bytes().subspan(100'000, 10)), SystemFailure);
}

TEST_F(CodeWindowTest, BytesInMemoryStayWhereTheyAre) {
  encode::CodeWindow window(nullptr);
  const auto bytes = file_->bytes().subspan(100, 10);
  EXPECT_EQ(window.read(bytes).data(), bytes.data());
}

}  // namespace
}  // namespace sframe_gen::test
