#include "support/processors.hpp"

#include <gtest/gtest.h>
#include <sched.h>

#include <thread>

namespace sframe_gen {
namespace {

TEST(Processors, AreThoseThatTheCallerMayRunOn) {
  EXPECT_GE(usable_processors(), 1U);
  std::size_t left = 0;
  std::thread([&] {
    const int own = ::sched_getcpu();
    ASSERT_GE(own, 0);
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(static_cast<unsigned>(own), &one);
    ASSERT_EQ(::sched_setaffinity(0, sizeof one, &one), 0);
    left = usable_processors();
  }).join();
  EXPECT_EQ(left, 1U);
}

}  // namespace
}  // namespace sframe_gen
