#include <gtest/gtest.h>
#include <sys/sysmacros.h>

#include <sstream>

#include "trace/live/process.hpp"

namespace sframe_gen::test {
namespace {

TEST(ProcessMaps, TakesCodeOnly) {
  std::istringstream text(
      "00400000-00401000 r--p 00000000 fd:01 77                                 /usr/bin/a b (deleted)\n"
      "00401000-00403000 r-xp 00001000 fd:01 77                                 /usr/bin/a b (deleted)\n"
      "7f0000000000-7f0000001000 rwxp 00000000 00:00 0 \n"
      "7fff00000000-7fff00002000 r-xp 00000000 00:00 0                          [vdso]\n");
  const auto mappings = trace::live::executable_mappings(text);
  ASSERT_EQ(mappings.size(), 3U);
  EXPECT_EQ(mappings[0].begin, 0x401000U);
  EXPECT_EQ(mappings[0].end, 0x403000U);
  EXPECT_EQ(mappings[0].file_offset, 0x1000U);
  EXPECT_EQ(mappings[0].device, makedev(0xfd, 1));
  EXPECT_EQ(mappings[0].inode, 77U);
  EXPECT_EQ(mappings[0].path, "/usr/bin/a b (deleted)");
  EXPECT_EQ(mappings[1].path, "");
  EXPECT_EQ(mappings[2].path, "[vdso]");
}

TEST(ProcessMaps, PassesOverWhatIsNoLine) {
  std::istringstream text("\nx\n1-\n1-2\n1-2 r-x\n1+2 r-xp 0 0:0 0\n");
  EXPECT_TRUE(trace::live::executable_mappings(text).empty());
}

}  // namespace
}  // namespace sframe_gen::test
