#include "elf/output_file.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "toolbox.hpp"

namespace sframe_gen::elf::test {
namespace {

class OutputFileTest : public testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::copy_file(small_library(), folder_ / "input");
    ::chmod((folder_ / "input").c_str(), 0750);
  }

  void write(const std::string& output) { inject(folder_ / "input", folder_ / output, 64); }
  mode_t mode_of(const std::string& name) {
    struct stat status {};
    ::stat((folder_ / name).c_str(), &status);
    return status.st_mode & 07777;
  }
  std::size_t files() {
    return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator(folder_.path()), {}));
  }

  Folder folder_;
};

TEST_F(OutputFileTest, NewFileTakesTheModeOfTheInput) {
  write("output");
  EXPECT_EQ(mode_of("output"), 0750U);
  EXPECT_EQ(files(), 2U);
}

TEST_F(OutputFileTest, ReplacedFileKeepsItsOwn) {
  write_text(folder_ / "output", "old");
  ::chmod((folder_ / "output").c_str(), 04711);
  write("output");
  EXPECT_EQ(mode_of("output"), 04711U);
}

TEST_F(OutputFileTest, InputMayBeTheOutput) {
  write("input");
  EXPECT_NE(Image::open(folder_ / "input").find_section(".sframe"), nullptr);
  EXPECT_EQ(files(), 1U);
}

TEST_F(OutputFileTest, LinksAreFollowed) {
  std::filesystem::create_directory(folder_ / "sub");
  write_text(folder_ / "sub/target", "old");
  std::filesystem::create_symlink("sub/target", folder_ / "link");
  std::filesystem::create_symlink("link", folder_ / "link_to_link");
  write("link_to_link");
  EXPECT_TRUE(std::filesystem::is_symlink(folder_ / "link_to_link"));
  EXPECT_NE(Image::open(folder_ / "sub/target").find_section(".sframe"), nullptr);
}

TEST_F(OutputFileTest, LinksInACircleAreAnError) {
  std::filesystem::create_symlink("a", folder_ / "b");
  std::filesystem::create_symlink("b", folder_ / "a");
  EXPECT_THROW(write("a"), SystemFailure);
}

TEST_F(OutputFileTest, ExtendedAttributesAreKept) {
  if (::setxattr((folder_ / "input").c_str(), "user.note", "kept", 4, 0) != 0) GTEST_SKIP() << "no extended attributes";
  write("output");
  std::array<char, 8> value{};
  EXPECT_EQ(::getxattr((folder_ / "output").c_str(), "user.note", value.data(), value.size()), 4);
}

TEST_F(OutputFileTest, FoldersAndMissingFoldersAreRefused) {
  std::filesystem::create_directory(folder_ / "folder");
  EXPECT_THROW(write("folder"), Refused);
  EXPECT_THROW(write("missing/output"), SystemFailure);
  EXPECT_EQ(files(), 2U);
}

TEST_F(OutputFileTest, WithoutCommitNothingStays) {
  write_text(folder_ / "target", "as it was");
  {
    const OutputFile file(folder_ / "target");
    EXPECT_EQ(::write(file.descriptor(), "x", 1), 1);
    EXPECT_EQ(files(), 3U);
  }
  EXPECT_EQ(files(), 2U);
  EXPECT_EQ(read_text(folder_ / "target"), "as it was");
}

TEST_F(OutputFileTest, LongNamesDoNotOverflow) {
  write(std::string(255, 'n'));
  EXPECT_EQ(files(), 2U);
}

}  // namespace
}  // namespace sframe_gen::elf::test
