// An output in two steps is the same as in one: whatever stands where, of copies and patches.

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <string>

#include "elf/edit/file_image.hpp"

namespace sframe_gen::elf {
namespace {

constexpr std::uint64_t largest_page = 1 << 16;

/// A file in memory.
class MemoryFile {
 public:
  explicit MemoryFile(const std::string& bytes = {}) : descriptor_(::memfd_create("test", MFD_CLOEXEC)) {
    EXPECT_EQ(::pwrite(descriptor_, bytes.data(), bytes.size(), 0), static_cast<ssize_t>(bytes.size()));
  }
  ~MemoryFile() { ::close(descriptor_); }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;
  MemoryFile(MemoryFile&&) = delete;
  MemoryFile& operator=(MemoryFile&&) = delete;

  int descriptor() const { return descriptor_; }
  MappedFile mapped() const { return {descriptor_, "test"}; }
  std::uint64_t bytes_stored() const {
    struct stat status {};
    return ::fstat(descriptor_, &status) == 0 ? static_cast<std::uint64_t>(status.st_blocks) * 512 : UINT64_MAX;
  }
  std::string bytes() const {
    std::string bytes(static_cast<std::size_t>(::lseek(descriptor_, 0, SEEK_END)), '?');
    EXPECT_EQ(::pread(descriptor_, bytes.data(), bytes.size(), 0), static_cast<ssize_t>(bytes.size()));
    return bytes;
  }

 private:
  int descriptor_;
};

Patch patch(std::uint64_t offset, char byte, std::size_t size) {
  return {offset, std::vector<std::byte>(size, static_cast<std::byte>(byte))};
}

class FileImageWriting : public testing::Test {
 protected:
  FileImageWriting() {
    for (char c = 'a'; c <= 'z'; ++c) text_ += std::string(10, c);
    // Kept where it is, on both sides of what is copied early; moved behind, and to the front; nothing of [90, 95).
    contents_.copies = {{0, 0, 90}, {95, 95, 25}, {120, 140, 100}, {220, 90, 4}, {250, 240, 10}};
    contents_.patches = {patch(3, 'A', 5), patch(98, 'B', 4), patch(101, 'C', 7), patch(150, 'D', 3)};
    contents_.size = 270;
  }

  const std::string name_ = "output";
  std::string text_;
  FileImage contents_;
  files::PieceBuffer buffer_;
};

TEST_F(FileImageWriting, EachByteIsWhereItBelongs) {
  const MemoryFile input(text_), output;
  write_file_image(contents_, input.mapped(), output.descriptor(), name_);
  std::string right(270, '\0');
  for (const Copy& copy : contents_.copies) right.replace(copy.to, copy.size, text_, copy.from, copy.size);
  for (const Patch& each : contents_.patches)
    right.replace(each.offset, each.bytes.size(), each.bytes.size(), static_cast<char>(each.bytes[0]));
  EXPECT_EQ(output.bytes(), right);
}

// More pieces than one call takes, which lie over each other, next to each other and apart.
TEST_F(FileImageWriting, ManyPiecesAtOnceAreAsOneByOne) {
  contents_.size = 100'000;
  for (std::uint64_t i = 0; i < 5000; ++i)
    contents_.patches.push_back(patch(300 + i * 37 % 50'000, static_cast<char>('a' + i % 26), 1 + i % 7));
  const MemoryFile input(text_), at_once, one_by_one;
  write_file_image(contents_, input.mapped(), at_once.descriptor(), name_);
  FileImageWriter(contents_, input.descriptor(), one_by_one.descriptor(), name_).finish();
  EXPECT_EQ(at_once.bytes(), one_by_one.bytes());
}

// Of what is between the pieces, and of the input.
TEST_F(FileImageWriting, HolesStayHoles) {
  contents_.copies = {{0, 0, text_.size()}, {0, 300'000, text_.size()}};
  contents_.patches.clear();
  contents_.size = 400'000;
  const MemoryFile dense(text_), between;
  write_file_image(contents_, dense.mapped(), between.descriptor(), name_);
  EXPECT_LE(between.bytes_stored(), 2 * largest_page);

  const MemoryFile sparse(text_), copy;
  ASSERT_EQ(::ftruncate(sparse.descriptor(), 400'000), 0);
  contents_.copies = {{0, 0, 400'000}};
  write_file_image(contents_, sparse.mapped(), copy.descriptor(), name_);
  EXPECT_LE(copy.bytes_stored(), largest_page);
  EXPECT_EQ(copy.bytes(), sparse.bytes());
}

// Wherever the early bytes end: before a copy or a patch, behind it or within.
TEST_F(FileImageWriting, StepsAreAsOne) {
  contents_.patches.push_back(patch(92, 'X', 3));
  contents_.patches.push_back(patch(238, 'Y', 5));
  const MemoryFile input(text_), whole;
  write_file_image(contents_, input.mapped(), whole.descriptor(), name_);
  for (std::size_t early = 1; early < text_.size(); ++early) {
    contents_.early_size = early;
    for (const CopiedBy copied_by : {CopiedBy::Kernel, CopiedBy::Program}) {
      const MemoryFile output;
      FileImageWriter writer(contents_, input.descriptor(), output.descriptor(), name_);
      writer.copy_behind_early_bytes(copied_by, buffer_);
      writer.write(writer.patches_behind_early_bytes());
      ASSERT_EQ(output.bytes().substr(0, early).find_first_not_of('\0'), std::string::npos) << early;
      ASSERT_EQ(::pwrite(output.descriptor(), text_.data(), early, 0), static_cast<ssize_t>(early));
      writer.finish();
      ASSERT_EQ(output.bytes(), whole.bytes()) << early;
    }
  }
}

TEST_F(FileImageWriting, PatchesThatComeBetweenTheStepsAreWritten) {
  const MemoryFile input(text_);
  contents_.early_size = 100;
  const MemoryFile output;
  FileImageWriter writer(contents_, input.descriptor(), output.descriptor(), name_);
  writer.copy_behind_early_bytes(CopiedBy::Kernel, buffer_);
  const auto behind = writer.patches_behind_early_bytes();
  contents_.patches.push_back(patch(200, 'E', 2));
  contents_.patches.push_back(patch(270, 'F', 30));
  contents_.size = 300;
  writer.write(behind);
  ASSERT_EQ(::pwrite(output.descriptor(), text_.data(), 100, 0), 100);
  writer.finish();
  EXPECT_EQ(output.bytes().substr(200, 3), "EE" + text_.substr(182, 1));
  EXPECT_EQ(output.bytes().substr(268), std::string(2, '\0') + std::string(30, 'F'));
}

}  // namespace
}  // namespace sframe_gen::elf
