// Regions against a string that is put together byte by byte, and the same regions written in one step and in several.

#include "files/regions.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <stdexcept>
#include <string>

#include "sframe_gen/error.hpp"

namespace sframe_gen::files {
namespace {

constexpr std::uint64_t largest_page = 1 << 16;
using Source = Region::Source;

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

std::vector<std::byte> bytes_of(const std::string& text) {
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

/// Bytes that differ from their neighbors, and from those some pages away.
std::string text_of(std::size_t size) {
  std::string text(size, '\0');
  for (std::size_t i = 0; i < size; ++i) text[i] = static_cast<char>(1 + (i * 7 + i / 4093) % 255);
  return text;
}

/// Regions, and the output as a plain string beside them.
class RegionsTest : public testing::Test {
 protected:
  void start(std::size_t input_size, std::size_t output_size) {
    text_ = text_of(input_size);
    regions_ = Regions(output_size);
    right_.assign(output_size, '\0');
  }
  void put_input(std::size_t offset, std::size_t from, std::size_t size) {
    regions_.put_input(offset, from, size);
    replace(offset, text_.substr(from, size));
  }
  void put_bytes(std::size_t offset, const std::string& bytes) {
    regions_.put_bytes(offset, bytes_of(bytes));
    replace(offset, bytes);
  }
  void put_hole(std::size_t offset, std::size_t size) {
    regions_.put_hole(offset, size);
    replace(offset, std::string(size, '\0'));
  }
  /// Everything at the start of a small file: kept where it is, moved up, moved to the front; and bytes over them.
  void start_small() {
    start(260, 270);
    put_input(0, 0, 90);
    put_input(95, 95, 25);
    put_input(140, 120, 100);
    put_input(90, 220, 4);
    put_input(240, 250, 10);
    put_bytes(3, "AAAAA");
    put_bytes(98, "BBBB");
    put_bytes(101, "CCCCCCC");
    put_bytes(150, "DDD");
    put_hole(200, 7);
    put_bytes(92, "XXX");
    put_bytes(238, "YYYYY");
  }
  std::string written() const {
    const MemoryFile input(text_), output;
    write_regions(regions_, input.mapped(), output.descriptor(), name_);
    return output.bytes();
  }

  const std::string name_ = "output";
  std::string text_, right_;
  Regions regions_;

 private:
  void replace(std::size_t offset, const std::string& bytes) {
    right_.resize(std::max(right_.size(), offset + bytes.size()));
    right_.replace(offset, bytes.size(), bytes);
  }
};

TEST_F(RegionsTest, FollowEachOther) {
  start_small();
  std::uint64_t end = 0;
  for (const Region& region : regions_.all()) {
    EXPECT_EQ(region.offset, end);
    EXPECT_NE(region.size, 0U);
    end = region.end();
  }
  EXPECT_EQ(end, 270U);
  EXPECT_EQ(regions_.size(), 270U);
}

TEST_F(RegionsTest, WhatIsPutLaterReplacesWhatWasThere) {
  Regions regions(10);
  regions.put_input(2, 102, 6);
  regions.put_bytes(4, bytes_of("x"));
  regions.put_hole(7, 5);
  const std::vector<Region> all = regions.all();
  ASSERT_EQ(all.size(), 5U);
  EXPECT_EQ(all[0].source, Source::Hole);
  EXPECT_EQ(all[1].from, 102U);
  EXPECT_EQ(all[1].size, 2U);
  EXPECT_EQ(all[2].source, Source::Bytes);
  EXPECT_EQ(all[3].from, 105U);
  EXPECT_EQ(all[3].size, 2U);
  EXPECT_EQ(all[4].source, Source::Hole);
  EXPECT_EQ(regions.size(), 12U);
}

TEST_F(RegionsTest, GrowByAHole) {
  Regions regions;
  EXPECT_EQ(regions.size(), 0U);
  regions.put_bytes(100, bytes_of("x"));
  EXPECT_EQ(regions.size(), 101U);
  EXPECT_EQ(regions.all().front().source, Source::Hole);
  EXPECT_EQ(regions.all().front().size, 100U);
}

TEST_F(RegionsTest, PartsAreClipped) {
  start_small();
  const auto input = std::as_bytes(std::span(text_));
  for (std::uint64_t begin = 0; begin < 280; begin += 3) {
    for (std::uint64_t end = begin; end < 280; end += 7) {
      std::string right = right_.substr(std::min(begin, right_.size()), end - begin);
      right.resize(end - begin);
      ASSERT_EQ(regions_.bytes(begin, end, input), bytes_of(right)) << begin << ' ' << end;
      for (const Region& region : regions_.part(begin, end)) {
        ASSERT_GE(region.offset, begin);
        ASSERT_LE(region.end(), end);
      }
    }
  }
}

TEST_F(RegionsTest, BytesOutsideTheInputAreAnError) {
  regions_.put_input(0, 5, 10);
  EXPECT_THROW(static_cast<void>(regions_.bytes(0, 10, std::as_bytes(std::span("123")))), std::out_of_range);
}

TEST_F(RegionsTest, EachByteIsWhereItBelongs) {
  start_small();
  EXPECT_EQ(written(), right_);
}

// More regions than one call takes, which are over each other, next to each other and apart.
TEST_F(RegionsTest, ManyRegionsAreWritten) {
  start(260, 100'000);
  put_input(0, 0, 260);
  for (std::size_t i = 0; i < 5000; ++i)
    put_bytes(300 + i * 37 % 50'000, std::string(1 + i % 7, static_cast<char>('a' + i % 26)));
  EXPECT_EQ(written(), right_);
}

// More than is written at once, of bytes and of the input, from its mapping and not.
TEST_F(RegionsTest, LargeRegionsAreWritten) {
  start(3'000'000, 6'000'000);
  put_input(10, 0, 400'001);
  put_input(500'000, 1, 2'000'003);
  put_bytes(2'600'000, text_.substr(7, 1'000'001));
  put_input(4'000'000, 2'000'000, 1'000'000);
  EXPECT_EQ(written(), right_);
}

// Of what is between the regions, and of the input.
TEST_F(RegionsTest, HolesStayHoles) {
  start(260, 400'000);
  put_input(0, 0, 260);
  put_input(300'000, 0, 260);
  const MemoryFile dense(text_), between;
  write_regions(regions_, dense.mapped(), between.descriptor(), name_);
  EXPECT_LE(between.bytes_stored(), 2 * largest_page);
  EXPECT_EQ(between.bytes(), right_);

  const MemoryFile sparse(text_), copy;
  ASSERT_EQ(::ftruncate(sparse.descriptor(), 2'000'000), 0);
  Regions all;
  all.put_input(0, 0, 2'000'000);
  write_regions(all, sparse.mapped(), copy.descriptor(), name_);
  EXPECT_LE(copy.bytes_stored(), largest_page);
  EXPECT_EQ(copy.bytes(), sparse.bytes());
}

// Wherever the early bytes end: before a region, after it or within.
TEST_F(RegionsTest, EarlyBytesAreLeftOrReplaced) {
  start_small();
  const MemoryFile input(text_);
  const MappedFile mapped = input.mapped();
  for (std::size_t early = 1; early < text_.size(); ++early) {
    const MemoryFile output;
    RegionWriter writer(mapped, output.descriptor(), name_);
    writer.write(regions_.part(early, regions_.size()), early);
    ASSERT_EQ(output.bytes().substr(0, early).find_first_not_of('\0'), std::string::npos) << early;
    ASSERT_EQ(::pwrite(output.descriptor(), text_.data(), early, 0), static_cast<ssize_t>(early));
    writer.write(regions_.part(0, early), early);
    resize(output.descriptor(), regions_.size(), name_);
    ASSERT_EQ(output.bytes(), right_) << early;
  }
}

TEST_F(RegionsTest, LargeHolesInEarlyBytesAreCleared) {
  start(1'000'000, 1'000'000);
  put_input(0, 0, 1000);
  put_input(900'000, 900'000, 100'000);
  const MemoryFile input(text_), output(text_);
  RegionWriter(input.mapped(), output.descriptor(), name_).write(regions_.all(), text_.size());
  EXPECT_EQ(output.bytes(), right_);
}

// The output has other bytes there.
TEST_F(RegionsTest, HolesOfTheInputThatMoveAreCleared) {
  const MemoryFile input(text_of(200'000));
  ASSERT_EQ(::ftruncate(input.descriptor(), 600'000), 0);
  ASSERT_EQ(::pwrite(input.descriptor(), "end", 3, 599'997), 3);
  const std::string text = input.bytes();
  Regions regions;
  regions.put_bytes(0, bytes_of(std::string(100'000, 'x')));
  regions.put_input(100'000, 0, 600'000);
  const MemoryFile output(text);
  const MappedFile mapped = input.mapped();
  RegionWriter(mapped, output.descriptor(), name_).write(regions.all(), text.size());
  EXPECT_EQ(output.bytes(), std::string(100'000, 'x') + text);
}

TEST_F(RegionsTest, OutputThatCannotBeWrittenIsAnError) {
  start_small();
  const MemoryFile input(text_);
  EXPECT_THROW(write_regions(regions_, input.mapped(), -1, name_), SystemFailure);
}

}  // namespace
}  // namespace sframe_gen::files
