#include "trace/walk/stack_end.hpp"

#include <gtest/gtest.h>

namespace sframe_gen::test {
namespace {

TEST(StackEnd, TellsTheLimitOfFramesInNoMappingToo) {
  trace::walk::Stack stack;
  stack.frames = {{0x1234}};
  stack.stop = unwind::Stop::Stepped;
  EXPECT_EQ(trace::walk::cut_of(stack)->reason, "limit of frames reached (--frames)");
  stack.stop = unwind::Stop::NoModule;
  EXPECT_EQ(trace::walk::cut_of(stack)->reason, unwind::text_of(unwind::Stop::NoModule));
}

TEST(StackEnd, IsUnknownOfARecordedChainUnlessItWasCutHere) {
  trace::walk::Stack stack;
  stack.frames = {{0x1234}};
  stack.is_as_recorded = true;
  stack.stop = unwind::Stop::Outermost;
  EXPECT_FALSE(trace::walk::cut_of(stack));
  stack.stop = unwind::Stop::Stepped;
  EXPECT_TRUE(trace::walk::cut_of(stack));
}

}  // namespace
}  // namespace sframe_gen::test
