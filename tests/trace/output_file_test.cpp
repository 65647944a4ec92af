#include "trace/files/output_file.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "sframe_gen/error.hpp"
#include "support/folder.hpp"
#include "support/mapped_file.hpp"

namespace sframe_gen::test {
namespace {

namespace fs = std::filesystem;

std::string content_of(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

void put(const fs::path& path, const std::string& content) {
  std::ofstream(path, std::ios::binary) << content;
}

class OutputFile : public testing::Test {
 protected:
  OutputFile() { fs::create_directory(folder_ / "sound"); }

  static void write(const fs::path& path, const std::string& content = "new") {
    trace::OutputFile(path).write([&](std::ostream& out) { out << content; });
  }

  const Folder folder_;
  const fs::path file_ = folder_ / "sound" / "out.svg";
};

TEST_F(OutputFile, HasANameWhenItIsComplete) {
  trace::OutputFile file(file_);
  EXPECT_TRUE(fs::is_empty(folder_ / "sound"));
  file.write([&](std::ostream& out) {
    out << std::string(1U << 20U, 'x');
    EXPECT_FALSE(fs::exists(file_));
  });
  EXPECT_EQ(fs::file_size(file_), 1U << 20U);
}

TEST_F(OutputFile, KeepsTheModeOfTheOneBefore) {
  put(file_, "old");
  fs::permissions(file_, fs::perms(0640));
  write(file_);
  EXPECT_EQ(content_of(file_), "new");
  EXPECT_EQ(fs::status(file_).permissions(), fs::perms(0640));
}

TEST_F(OutputFile, LeavesOtherNamesOfTheOneBeforeAsTheyAre) {
  put(file_, "old");
  fs::create_hard_link(file_, folder_ / "other");
  write(file_);
  EXPECT_EQ(content_of(folder_ / "other"), "old");
}

TEST_F(OutputFile, FollowsALinkThatNoOtherUserCanHaveMade) {
  fs::create_symlink("target", file_);
  write(file_);
  EXPECT_TRUE(fs::is_symlink(file_));
  EXPECT_EQ(content_of(folder_ / "sound" / "target"), "new");
}

TEST_F(OutputFile, RefusesALinkInADirectoryThatOthersMayWriteTo) {
  put(folder_ / "target", "old");
  fs::create_symlink(folder_ / "target", file_);
  for (const unsigned mode : {0777U, 0770U, 01777U}) {
    fs::permissions(folder_ / "sound", fs::perms(mode));
    EXPECT_THROW(write(file_), Refused);
    EXPECT_EQ(content_of(folder_ / "target"), "old");
  }
}

TEST_F(OutputFile, IsAnOpenFileByItsNumber) {
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-vararg)
  const Descriptor open(::open(file_.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
  write("/dev/fd/" + std::to_string(open.number()), "one ");
  write("/proc/self/fd/" + std::to_string(open.number()), "two");
  EXPECT_EQ(content_of(file_), "one two");
  EXPECT_EQ(trace::stream_named("/dev/stdout"), STDOUT_FILENO);
  EXPECT_EQ(trace::stream_named("/dev/fd/1x"), std::nullopt);
  EXPECT_EQ(trace::stream_named("stdout"), std::nullopt);
}

TEST_F(OutputFile, RefusesAStreamThatCannotBeWrittenTo) {
  const Descriptor open(::open("/dev/null", O_RDONLY | O_CLOEXEC));  // NOLINT(cppcoreguidelines-pro-type-vararg)
  EXPECT_THROW(trace::OutputFile("/dev/fd/" + std::to_string(open.number())), SystemFailure);
  EXPECT_THROW(trace::OutputFile("/dev/fd/999999"), SystemFailure);
}

TEST_F(OutputFile, IsAStreamThroughALinkToIt) {
  fs::create_symlink("/dev/fd/1", file_);
  EXPECT_EQ(trace::OutputFile(file_).folder(), "");
}

TEST_F(OutputFile, ReplacesNoDeviceAndNoDirectory) {
  write("/dev/null");
  EXPECT_TRUE(fs::is_character_file("/dev/null"));
  EXPECT_THROW(write("/dev/full"), SystemFailure);
  EXPECT_THROW(write(folder_ / "sound"), SystemFailure);
  EXPECT_THROW(write(folder_ / "none" / "file"), SystemFailure);
}

class RecordingFile : public testing::Test {
 protected:
  std::size_t files() const {
    return static_cast<std::size_t>(std::distance(fs::directory_iterator(folder_.path()), fs::directory_iterator()));
  }

  const Folder folder_;
  const fs::path file_ = folder_ / "perf.data", old_ = folder_ / "perf.data.old";
};

TEST_F(RecordingFile, APictureDoesNotReplaceIt) {
  for (const char* content : {"PERFILE2 and so on", "2ELIFREP", "\177ELF\2\1\1 and so on"}) {
    put(file_, content);
    EXPECT_THROW(trace::OutputFile{file_}, Refused) << content;
    EXPECT_EQ(content_of(file_), content);
  }
  put(file_, "<svg>");
  trace::OutputFile picture(file_);
  picture.write([](std::ostream& out) { out << "<svg/>"; });
  EXPECT_EQ(content_of(file_), "<svg/>");
}

TEST_F(RecordingFile, TakesItsNameFromTheOneBefore) {
  put(file_, "old");
  trace::RecordingFile file(file_);
  EXPECT_EQ(content_of(file_), "old");
  file.take_name();
  file.take_name();
  EXPECT_EQ(content_of(file_), "");
  EXPECT_EQ(content_of(old_), "old");
  EXPECT_EQ(fs::status(file_).permissions(), fs::perms(0600));
  EXPECT_EQ(files(), 2U);
}

TEST_F(RecordingFile, LeavesEverythingAsItIsWithoutItsName) {
  put(file_, "old");
  { const trace::RecordingFile file(file_); }
  EXPECT_EQ(content_of(file_), "old");
  EXPECT_EQ(files(), 1U);
}

TEST_F(RecordingFile, DoesNotFollowALinkThatHasTheName) {
  put(folder_ / "precious", "root's");
  trace::RecordingFile file(file_);
  fs::create_symlink(folder_ / "precious", file_);
  file.take_name();
  EXPECT_TRUE(fs::is_symlink(old_));
  EXPECT_FALSE(fs::is_symlink(file_));
  EXPECT_EQ(content_of(folder_ / "precious"), "root's");
}

TEST_F(RecordingFile, ReplacesOnlyFiles) {
  EXPECT_THROW(trace::RecordingFile("/dev/null"), Refused);
  EXPECT_THROW(trace::RecordingFile(folder_ / "none" / "file"), SystemFailure);
  trace::RecordingFile file(file_);
  fs::create_directory(file_);
  EXPECT_THROW(file.take_name(), Refused);
}

}  // namespace
}  // namespace sframe_gen::test
