#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "trace/report/text_report.hpp"
#include "trace/walk/stack.hpp"

namespace sframe_gen::test {
namespace {

using trace::walk::Frame;

std::vector<Frame> frames_up_to(std::uint64_t count) {
  std::vector<Frame> frames;
  for (std::uint64_t pc = 1; pc <= count; ++pc) frames.push_back({.pc = pc, .pc_is_exact = pc == 1});
  return frames;
}

/// "1 2 [3] 6": PCs, and how many are left out.
std::string text_of(const std::vector<Frame>& frames) {
  std::string text;
  for (const Frame& frame : frames) {
    if (!text.empty()) text += ' ';
    text += frame.left_out == 0             ? std::to_string(frame.pc)
            : frame.left_out == Frame::some ? "[some]"
                                            : "[" + std::to_string(frame.left_out) + "]";
  }
  return text;
}

TEST(DeepStack, KeepsBothEndsAndCountsWhatIsBetween) {
  for (const auto& [count, expected] :
       std::vector<std::pair<std::uint64_t, std::string>>{{7, "1 2 3 4 5 6 7"},
                                                          {9, "1 2 3 4 5 6 7 8 9"},
                                                          {10, "1 2 3 4 [2] 7 8 9 10"},
                                                          {1000, "1 2 3 4 [992] 997 998 999 1000"}}) {
    std::vector<Frame> frames = frames_up_to(count);
    EXPECT_TRUE(trace::walk::keep_both_ends(frames, 9));
    EXPECT_EQ(text_of(frames), expected);
    EXPECT_EQ(trace::walk::count_frames(frames), count);
  }
}

TEST(DeepStack, IsCutWhereTooFewFramesAreWanted) {
  std::vector<Frame> frames = frames_up_to(10);
  EXPECT_FALSE(trace::walk::keep_both_ends(frames, 3));
  EXPECT_EQ(text_of(frames), "1 2 3");
}

TEST(DeepStack, CountsFramesThatWereLeftOutBefore) {
  std::vector<Frame> frames = frames_up_to(30);
  trace::walk::keep_both_ends(frames, 20);
  trace::walk::keep_both_ends(frames, 8);
  EXPECT_EQ(text_of(frames), "1 2 3 4 [23] 28 29 30");
  frames[4].left_out = Frame::some;
  const std::vector<Frame> more = frames_up_to(10);
  frames.insert(frames.end(), more.begin(), more.end());
  trace::walk::keep_both_ends(frames, 8);
  EXPECT_EQ(text_of(frames), "1 2 3 4 [some] 8 9 10");
}

TEST(DeepStack, IsComparedByBothEndsAndByItsDepth) {
  trace::walk::Stack stack{.frames = frames_up_to(100), .stop = unwind::Stop::Outermost};
  trace::walk::keep_both_ends(stack.frames, 10);
  stack.by_dwarf = trace::walk::DwarfStack{.frames = frames_up_to(100), .cut = {}};
  const auto match = [&] { return trace::walk::comparison_of(stack)->match; };
  EXPECT_EQ(match(), trace::walk::Match::Equal);
  stack.by_dwarf->frames.back().pc = 1234;
  EXPECT_EQ(match(), trace::walk::Match::Different);
  stack.by_dwarf->frames = frames_up_to(99);
  EXPECT_EQ(match(), trace::walk::Match::Different);
  stack.by_dwarf->frames = frames_up_to(50);
  stack.by_dwarf->cut = "memory ends";
  EXPECT_EQ(match(), trace::walk::Match::UpToCut);
}

TEST(DeepStack, NamesWhatIsLeftOut) {
  EXPECT_EQ(trace::report::text_of_left_out({.left_out = 1}), "[1 frame left out]");
  EXPECT_EQ(trace::report::text_of_left_out({.left_out = 388}), "[388 frames left out]");
  EXPECT_EQ(trace::report::text_of_left_out({.left_out = Frame::some}), "[frames left out]");
}

}  // namespace
}  // namespace sframe_gen::test
