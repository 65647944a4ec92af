#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <string>

#include "files/stored_bytes.hpp"

namespace sframe_gen::files {
namespace {

constexpr std::uint64_t file_size = std::uint64_t{8} << 20, middle = file_size / 2;

/// A file of holes, but for what is written.
class SparseFile {
 public:
  SparseFile() : descriptor_(::memfd_create("test", MFD_CLOEXEC)) {
    EXPECT_EQ(::ftruncate(descriptor_, static_cast<off_t>(file_size)), 0);
  }
  ~SparseFile() { ::close(descriptor_); }
  SparseFile(const SparseFile&) = delete;
  SparseFile& operator=(const SparseFile&) = delete;
  SparseFile(SparseFile&&) = delete;
  SparseFile& operator=(SparseFile&&) = delete;

  void write(const std::string& text, std::uint64_t at) const {
    EXPECT_EQ(::pwrite(descriptor_, text.data(), text.size(), static_cast<off_t>(at)),
              static_cast<ssize_t>(text.size()));
  }
  FilePlace at(std::uint64_t offset) const { return {descriptor_, offset}; }

 private:
  int descriptor_;
};

TEST(SameBytes, HoleIsZeros) {
  const SparseFile a, b;
  b.write(std::string(100000, '\0'), middle);
  EXPECT_TRUE(have_same_bytes(a.at(0), b.at(0), file_size));
  EXPECT_TRUE(have_same_bytes(b.at(0), a.at(0), file_size));
}

TEST(SameBytes, OneByteInEithersHoleIsSeen) {
  const SparseFile a, b;
  for (const std::uint64_t place : {std::uint64_t{0}, middle, file_size - 1}) {
    b.write("x", place);
    EXPECT_FALSE(have_same_bytes(a.at(0), b.at(0), file_size)) << place;
    EXPECT_FALSE(have_same_bytes(b.at(0), a.at(0), file_size)) << place;
    b.write(std::string(1, '\0'), place);
  }
}

TEST(SameBytes, OneByteOfDataIsSeen) {
  const SparseFile a, b;
  const std::string data(1000000, 'd');
  a.write(data, middle);
  b.write(data, middle);
  EXPECT_TRUE(have_same_bytes(a.at(0), b.at(0), file_size));
  b.write("x", middle + data.size() - 1);
  EXPECT_FALSE(have_same_bytes(a.at(0), b.at(0), file_size));
  EXPECT_TRUE(have_same_bytes(a.at(0), b.at(0), middle + data.size() - 1));
}

TEST(SameBytes, PlacesMayDiffer) {
  const SparseFile a, b;
  const std::string data(1000000, 'd');
  a.write(data, 1);
  b.write(data, middle + 5);
  EXPECT_TRUE(have_same_bytes(a.at(0), b.at(middle + 4), data.size() + 10));
  EXPECT_FALSE(have_same_bytes(a.at(0), b.at(middle + 5), data.size() + 10));
}

TEST(SameBytes, BehindTheEndIsNothingTheSame) {
  const SparseFile a, b;
  a.write("x", file_size - 1);
  b.write("x", file_size - 1);
  EXPECT_TRUE(have_same_bytes(a.at(file_size - 1), b.at(file_size - 1), 1));
  EXPECT_FALSE(have_same_bytes(a.at(file_size - 1), {-1, file_size - 1}, 1));
}

}  // namespace
}  // namespace sframe_gen::files
