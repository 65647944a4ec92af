// What a look at the loaded modules leaves as it was.

#include "unwind/modules.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <cerrno>

namespace sframe_gen::unwind::test {
namespace {

TEST(LookAtModules, KeepsErrnoIfItCannotOpenTheListOfMappings) {
  rlimit files{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &files), 0);
  const rlimit none{0, files.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
  forget_modules();
  errno = ENOTTY;
  EXPECT_EQ(look_at_modules({}, 0), 0);
  EXPECT_EQ(errno, ENOTTY);
  forget_modules();
  EXPECT_EQ(::setrlimit(RLIMIT_NOFILE, &files), 0);
}

}  // namespace
}  // namespace sframe_gen::unwind::test
