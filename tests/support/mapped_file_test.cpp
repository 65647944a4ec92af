#include "support/mapped_file.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <functional>
#include <string>
#include <utility>

#include "sframe_gen/error.hpp"
#include "support/folder.hpp"

namespace sframe_gen {
namespace {

class MappedFileTest : public testing::Test {
 protected:
  std::filesystem::path file(const std::string& name, const std::string& content) const {
    std::ofstream(folder_ / name, std::ios::binary) << content;
    return folder_ / name;
  }

  static std::string text_of(const MappedFile& file) {
    return {reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size()};
  }

  static std::string failure_of(const std::filesystem::path& path) {
    try {
      const MappedFile file(path);
    } catch (const Failure& failure) {
      return failure.what();
    }
    return {};
  }

  const test::Folder folder_;
};

TEST_F(MappedFileTest, HoldsTheContents) {
  const MappedFile mapped(file("some", "contents"));
  EXPECT_EQ(text_of(mapped), "contents");
  EXPECT_GE(mapped.descriptor(), 0);
}

TEST_F(MappedFileTest, MayBeEmpty) {
  EXPECT_TRUE(MappedFile(file("empty", "")).bytes().empty());
}

TEST_F(MappedFileTest, OutlivesTheName) {
  const MappedFile mapped(file("some", "contents"));
  std::filesystem::remove(folder_ / "some");
  EXPECT_EQ(text_of(mapped), "contents");
}

TEST_F(MappedFileTest, Moves) {
  MappedFile first(file("some", "contents"));
  MappedFile second(std::move(first));
  EXPECT_EQ(text_of(second), "contents");
  MappedFile third(file("other", "else"));
  third = std::move(second);
  EXPECT_EQ(text_of(third), "contents");
}

TEST_F(MappedFileTest, RefusesWhatIsNoRegularFile) {
  EXPECT_EQ(failure_of(folder_.path()), folder_.path().string() + ": not a regular file");
  EXPECT_EQ(failure_of("/dev/null"), "/dev/null: not a regular file");
  const std::filesystem::path fifo = folder_ / "fifo";
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  EXPECT_EQ(failure_of(fifo), fifo.string() + ": not a regular file");  // and does not wait for a writer
}

TEST_F(MappedFileTest, SaysWhyItCannotOpen) {
  EXPECT_EQ(failure_of(folder_ / "no"), (folder_ / "no").string() + ": cannot open: No such file or directory");
  EXPECT_EQ(failure_of(file("file", "") / "below"),
            (folder_ / "file/below").string() + ": cannot open: Not a directory");
}

/// Of this process, that files back.
std::uint64_t resident_file_bytes() {
  std::ifstream status("/proc/self/status");
  std::string word;
  std::uint64_t kilobytes = 0;
  while (status >> word)
    if (word == "RssFile:") status >> kilobytes;
  return kilobytes << 10;
}

TEST_F(MappedFileTest, WhatIsLetGoComesBack) {
  constexpr std::size_t size = 24 << 20;
  std::string content(size, 'x');
  for (std::size_t i = 0; i < size; i += 4096) content[i] = static_cast<char>('a' + i / 4096 % 26);
  const MappedFile mapped(file("large", content));
  ASSERT_TRUE(text_of(mapped) == content);
  const std::uint64_t before = resident_file_bytes();
  drop_pages(mapped);
  EXPECT_LT(resident_file_bytes() + size / 2, before);
  EXPECT_TRUE(text_of(mapped) == content);
}

}  // namespace
}  // namespace sframe_gen
