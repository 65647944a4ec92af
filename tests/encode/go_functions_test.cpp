// What becomes of a Go program without any call frame information.

#include <gtest/gtest.h>

#include "api/address_names.hpp"
#include "cfi/frame_source.hpp"
#include "elf/go_file.hpp"
#include "elf/image.hpp"
#include "elf/object/toolbox.hpp"
#include "encode/coverage.hpp"
#include "encode/encode_functions.hpp"
#include "encode/row_sources.hpp"

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
  encode::EncodedFunctions encoded = encode::encode_file(image, image, {}, encode::dialect_for(image, OutputFormat{}));
  Coverage& coverage = encoded.coverage;
  EXPECT_EQ(coverage.go.functions, 2U);
  EXPECT_EQ(coverage.go.bytes, 10U);
  EXPECT_EQ(coverage.go.replaced, 0U);
  EXPECT_EQ(coverage.whole, 1U);
  EXPECT_EQ(coverage.left_out, 1U);
  EXPECT_EQ(coverage.rows, 3U);
  ASSERT_EQ(coverage.holes.size(), 1U);
  EXPECT_EQ(coverage.holes[0].hole.reason, Unrepresentable::GoSwitchesStacks);
  encode::name_holes(coverage, image);
  EXPECT_EQ(coverage.holes[0].function, "runtime.mcall");
}

TEST(GoFunctions, HaveNamesInStrippedFiles) {
  const GoFile file({pushes, switches});
  const elf::Image image = elf::Image::of_bytes(file.bytes, "go");
  api::AddressNames places(image);
  EXPECT_EQ(places.symbol_at(file.starts[0] + 2), "main.pushes+0x2");
}

TEST(GoFunctions, AreNamedAsSourceOfTheirRows) {
  const GoFile file({pushes, switches});
  const elf::Image image = elf::Image::of_bytes(file.bytes, "go");
  api::AddressNames places(image);
  const std::uint64_t start = file.starts[0], padding = start + pushes.code.size();
  EXPECT_EQ(places.source_at(start, start), RowSource::GoTable);
  EXPECT_EQ(places.source_at(padding, start), RowSource::GoTable);
  EXPECT_EQ(places.source_at(padding, padding), std::nullopt);
}

// Return addresses may be in padding. A function of C that does nothing looks like padding, and has no row.
TEST(GoFunctions, GoOnOverPaddingOnly) {
  const Described of_c{{0x90, 0x90}, {}, 0, "c_function"};
  const auto size_of_first = [](const std::vector<Described>& functions) {
    const GoFile file(functions);
    const elf::Image image = elf::Image::of_bytes(file.bytes, "go");
    return encode::encode_file(image, image, {}, encode::dialect_for(image, OutputFormat{}))
        .encoder.descriptors()
        .front()
        .size;
  };
  EXPECT_EQ(size_of_first({pushes, pushes}), 15U);
  EXPECT_EQ(size_of_first({pushes, switches, pushes}), 6U);
  EXPECT_EQ(size_of_first({pushes, of_c, pushes}), 6U);
}

/// A CIE of .debug_frame that counts by `factor`, and an FDE of a function.
std::string entry_of(const std::string& label, int factor, const std::string& function) {
  return label + R"(:
  .long 2f - 1f
1:.long 0xffffffff
  .byte 3, 0, 1
  .sleb128 )" +
         std::to_string(factor) + R"(
  .byte 16, 0x0c, 7, 8
  .balign 8
2:.long 4f - 3f
3:.long )" +
         label + " - .debug_frame\n  .quad " + function + ", 2\n  .balign 8\n4:\n";
}

// Those of C in the same file count.
TEST(GoFunctions, GetNoRowsFromDebugFrame) {
  const std::string functions = R"(
  .text
of_go: nop
  ret
of_c: nop
  ret
  .section .debug_frame, "", @progbits
)" + entry_of("cie_of_go", -4, "of_go") +
                                entry_of("cie_of_c", -8, "of_c");
  const auto sources_of = [](const std::string& source) {
    const std::vector<std::byte> bytes = elf::object::test::assemble(source);
    const elf::Image image = elf::object::test::open(bytes);
    const cfi::FrameSource frames(image, image);
    return std::pair(frames.size(), frames.dropped().of_go);
  };
  EXPECT_EQ(sources_of(functions), std::pair(std::size_t{2}, std::uint64_t{0}));
  EXPECT_EQ(sources_of(functions + ".section .note.go.buildid, \"a\", @note\n"),
            std::pair(std::size_t{1}, std::uint64_t{1}));
}

}  // namespace
}  // namespace sframe_gen::convert
