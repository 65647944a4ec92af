#include <gtest/gtest.h>

#include "elf/edit/file_image.hpp"
#include "elf/toolbox.hpp"

namespace sframe_gen::elf {
namespace {

Patch patch_of(std::uint64_t offset, std::size_t size, int value) {
  return {offset, std::vector<std::byte>(size, static_cast<std::byte>(value))};
}

/// Copies, a gap, patches that lie over each other and over both, and one of no bytes.
TEST(OutputBytes, InPiecesAreTheSame) {
  const Image image = Image::open("/proc/self/exe");
  FileImage contents;
  contents.size = 1 << 20;
  contents.copies = {{0, 0, 1000}, {500, 2000, 600000}};
  contents.patches = {patch_of(10, 20, 1),  patch_of(15, 5, 2),      patch_of(25, 3000, 3),
                      patch_of(40, 1, 4),   patch_of(3025, 400, 5),  patch_of(3425, 0, 6),
                      patch_of(3425, 9, 7), patch_of(700000, 70, 8), patch_of(699990, 30, 9)};
  for (const FileRange range : {FileRange{0, contents.size}, FileRange{17, 3426}, FileRange{41, 42}, FileRange{5, 5},
                                FileRange{600000, 700010}, FileRange{699995, 700070}, FileRange{1 << 19, 2 << 20}}) {
    std::vector<std::byte> bytes;
    visit_output_bytes(image, contents, range, [&](std::span<const std::byte> piece) {
      bytes.insert(bytes.end(), piece.begin(), piece.end());
    });
    EXPECT_EQ(bytes, output_bytes(image, contents, range));
  }
}

}  // namespace
}  // namespace sframe_gen::elf
