// What released GNU tools write that the text of the format does not describe.

#include <gtest/gtest.h>

#include "sframe/test_bytes.hpp"
#include "sframe_gen/section.hpp"

namespace sframe_gen::sframe {
namespace {

TEST(Decoder, IgnoresTheRepeatSizeOfPlt0) {
  // GNU ld 2.44's section for a lazy PLT of four entries at 0x1000, cut off behind it.
  const auto bytes = test::bytes_of(R"(
e2 de 02 01 03 00 f8 00   02 00 00 00 04 00 00 00   0c 00 00 00 00 00 00 00 28 00 00 00
00 f0 ff ff 10 00 00 00   00 00 00 00 02 00 00 00   00 10 00 00   # PLT0: does not repeat, repeat size 16
10 f0 ff ff 30 00 00 00   06 00 00 00 02 00 00 00   10 10 00 00
00 03 10   06 03 18
00 03 08   0b 03 10
)");
  const Section section = decode(bytes, 0x2000, {"a.out", ".sframe"});
  ASSERT_EQ(section.fdes.size(), 2U);
  EXPECT_EQ(section.fdes[0].start, 0x1000U);
  EXPECT_EQ(section.fdes[0].pc_type, PcType::Increment);
  EXPECT_EQ(section.fdes[0].repeat_size, 0);
  EXPECT_EQ(section.fdes[1].pc_type, PcType::Mask);
  EXPECT_EQ(section.fdes[1].repeat_size, 16);
}

}  // namespace
}  // namespace sframe_gen::sframe
