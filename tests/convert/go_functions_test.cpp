// What becomes of a Go program without any call frame information.

#include "convert/go_functions.hpp"

#include <gtest/gtest.h>

#include "convert/coverage.hpp"
#include "convert/encode_functions.hpp"
#include "elf/go_file.hpp"
#include "elf/image.hpp"

namespace sframe_gen::convert {
namespace {

using elf::test::Described;
using elf::test::GoFile;

// push %rbp; mov %rsp,%rbp; pop %rbp; ret
const Described pushes{{0x55, 0x48, 0x89, 0xe5, 0x5d, 0xc3}, {{0, 1}, {8, 4}, {0, 1}}, 0, "main.pushes"};
const Described switches{{0x48, 0x89, 0xc4, 0xc3}, {{0, 4}}, elf::test::switches_stacks, "runtime.mcall"};

TEST(GoFunctions, GiveRowsWithoutCallFrameInformation) {
  const GoFile file({pushes, switches});
  const elf::Image image = elf::Image::of_bytes(file.bytes, "go");
  EncodedFunctions encoded = encode_functions_of(image, image, {}, dialect_for(image, OutputFormat{}));
  Coverage& coverage = encoded.coverage;
  EXPECT_EQ(coverage.go.functions, 2U);
  EXPECT_EQ(coverage.go.bytes, 10U);
  EXPECT_EQ(coverage.go.replaced, 0U);
  EXPECT_EQ(coverage.whole, 1U);
  EXPECT_EQ(coverage.left_out, 1U);
  EXPECT_EQ(coverage.rows, 3U);
  ASSERT_EQ(coverage.holes.size(), 1U);
  EXPECT_EQ(coverage.holes[0].hole.reason, Unrepresentable::GoSwitchesStacks);
  name_holes(coverage, image);
  EXPECT_EQ(coverage.holes[0].function, "runtime.mcall");
}

TEST(GoFunctions, HaveNamesInStrippedFiles) {
  const GoFile file({pushes, switches});
  const elf::Image image = elf::Image::of_bytes(file.bytes, "go");
  Places places(image);
  EXPECT_EQ(places.symbol_at(file.starts[0] + 2), "main.pushes+0x2");
  EXPECT_TRUE(places.is_go(file.starts[1]));
  EXPECT_FALSE(places.is_go(file.starts[1] + 0x100));
}

// Return addresses may be in padding. A function of C that does nothing looks like padding, and has no row.
TEST(GoFunctions, GoOnOverPaddingOnly) {
  const Described of_c{{0x90, 0x90}, {}, 0, "c_function"};
  const auto size_of_first = [](const std::vector<Described>& functions) {
    const GoFile file(functions);
    const elf::Image image = elf::Image::of_bytes(file.bytes, "go");
    return encode_functions_of(image, image, {}, dialect_for(image, OutputFormat{})).encoder.descriptors().front().size;
  };
  EXPECT_EQ(size_of_first({pushes, pushes}), 15U);
  EXPECT_EQ(size_of_first({pushes, switches, pushes}), 6U);
  EXPECT_EQ(size_of_first({pushes, of_c, pushes}), 6U);
}

}  // namespace
}  // namespace sframe_gen::convert
