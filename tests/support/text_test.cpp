#include "support/text.hpp"

#include <gtest/gtest.h>

#include <cerrno>

#include "sframe_gen/error.hpp"

namespace sframe_gen {
namespace {

TEST(Text, PrintableKeepsTextAndEscapesControls) {
  EXPECT_EQ(printable("libc.so.6"), "libc.so.6");
  EXPECT_EQ(printable("a\nb\x1b[2J"), "a\\x0ab\\x1b[2J");
  EXPECT_EQ(printable("na\xc3\xafve \xc2\xa0 \xe2\x82\xac \xc4\x9b \x9b"),
            "na\xc3\xafve \xc2\xa0 \xe2\x82\xac \xc4\x9b \x9b");
  EXPECT_EQ(printable("\xc2\x9b"
                      "2J \xc2"),
            "\\xc2\\x9b2J \xc2");
}

TEST(Text, Hex) {
  EXPECT_EQ(hex(0), "0x0");
  EXPECT_EQ(hex(0x1f), "0x1f");
  EXPECT_EQ(hex(0xffffffffffffffff), "0xffffffffffffffff");
}

TEST(Text, Counts) {
  EXPECT_EQ(count_of(0, "row"), "0 rows");
  EXPECT_EQ(count_of(1, "row"), "1 row");
  EXPECT_EQ(count_of(2, "row"), "2 rows");
  EXPECT_EQ(count_of(18446744073709551615U, "PC"), "18446744073709551615 PCs");
}

TEST(Error, MalformedInputNamesThePlace) {
  const MalformedInput failure({"libm.so", ".eh_frame"}, 0x1c8, "FDE refers to a CIE at 0x40, which is an FDE");
  EXPECT_STREQ(failure.what(), "libm.so: .eh_frame+0x1c8: FDE refers to a CIE at 0x40, which is an FDE");
}

TEST(Error, RefusedNamesTheFile) {
  EXPECT_STREQ(Refused("a.out", "not an ELF file").what(), "a.out: not an ELF file");
}

TEST(Error, SystemFailureGivesTheReason) {
  EXPECT_STREQ(SystemFailure("a.out", "open", ENOENT).what(), "a.out: cannot open: No such file or directory");
}

}  // namespace
}  // namespace sframe_gen
