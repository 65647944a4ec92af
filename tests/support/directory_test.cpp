#include "support/directory.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>

namespace sframe_gen {
namespace {

TEST(Directory, HasTheNamesOfItsEntries) {
  const std::filesystem::path place = std::filesystem::path(testing::TempDir()) / "directory-test";
  std::filesystem::remove_all(place);
  std::filesystem::create_directories(place / "b");
  std::ofstream(place / "a file");
  std::error_code error;
  std::vector<std::string> names = names_in(place, error);
  std::ranges::sort(names);
  EXPECT_FALSE(error);
  EXPECT_EQ(names, (std::vector<std::string>{"a file", "b"}));
  std::filesystem::remove_all(place);
}

TEST(Directory, SaysWhyItCannotBeRead) {
  std::error_code error;
  EXPECT_TRUE(names_in("/no/such/directory", error).empty());
  EXPECT_EQ(error, std::errc::no_such_file_or_directory);
}

}  // namespace
}  // namespace sframe_gen
