#include "trace/record/event_kind.hpp"

#include <gtest/gtest.h>

#include "command_line/options.hpp"

namespace sframe_gen::test {
namespace {

TEST(EventKind, IsKnownByItsNameInPerf) {
  EXPECT_EQ(trace::record::event_named("page-faults").config, 2U);
  EXPECT_EQ(trace::record::event_named("r1a8").config, 0x1a8U);
  EXPECT_FALSE(trace::record::event_named("cycles:u").in_kernel);
  EXPECT_FALSE(trace::record::event_named("cycles:k").in_user);
  for (const char* const name : {"", "cycle", "r", "rx", "a:b", "../x:y", "cpu-clock:x"})
    EXPECT_THROW(trace::record::event_named(name), command_line::UsageError) << name;
}

}  // namespace
}  // namespace sframe_gen::test
