#include "trace/walk/outer_frames.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <tuple>
#include <utility>
#include <vector>

namespace sframe_gen::test {
namespace {

using trace::walk::OuterStacks;
using trace::walk::Stack;
using unwind::Stop;

constexpr std::uint64_t top = 0x7fff00000000, frame_size = 64;

/// A sample of a thread with `depth` callers, each with a frame of 64 bytes, of which the kernel has copied `room`
/// bytes.
struct Sample {
  std::vector<std::uint64_t> words;  ///< of the copy
  std::uint64_t address = 0;
  Stack stack;

  explicit Sample(std::uint64_t depth, std::uint64_t room = 4096, std::uint64_t salt = 0)
      : address(top - depth * frame_size) {
    for (std::uint64_t at = address; at < top && at < address + room; at += 8) words.push_back(at * 3 + salt);
    const std::uint64_t end = address + words.size() * 8;
    stack.is_piece = true;
    stack.stop = Stop::UnreadableMemory;
    for (std::uint64_t sp = address; sp <= end; sp += frame_size) {
      stack.frames.push_back({.pc = 0x1000 + sp / frame_size % 7, .pc_is_exact = sp == address});
      stack.bases.push_back(
          {.stack_pointer = sp, .frame_pointer = sp + 8, .knows_stack_pointer = true, .knows_frame_pointer = true});
    }
    if (end == top) stack.stop = Stop::Outermost;
  }

  Sample& taken(OuterStacks& stacks, const trace::walk::StackOwner& owner = {1, 1, 0}) {
    stacks.take(owner, {address, std::as_bytes(std::span(words))}, stack);
    return *this;
  }
  std::ptrdiff_t added() const {
    return std::ranges::count(stack.frames, true, &trace::walk::Frame::from_earlier_sample);
  }
};

OuterStacks with_whole_sample() {
  OuterStacks stacks;
  EXPECT_EQ(Sample(50).taken(stacks).added(), 0);
  return stacks;
}

TEST(OuterStacks, AddOuterFramesOfAnEarlierSample) {
  OuterStacks stacks = with_whole_sample();
  const Sample deep = Sample(80).taken(stacks);
  EXPECT_TRUE(deep.stack.is_whole());
  EXPECT_EQ(deep.stack.frames.size(), 81);
  EXPECT_EQ(deep.added(), 16);
  const Sample all(80, 1 << 20U);
  for (std::size_t i = 0; i < all.stack.frames.size(); ++i) {
    EXPECT_EQ(deep.stack.frames[i].pc, all.stack.frames[i].pc);
    EXPECT_EQ(deep.stack.frames[i].from_earlier_sample, i > 64);
  }
}

TEST(OuterStacks, GrowWithTheSamplesThatTheyHaveMadeWhole) {
  OuterStacks stacks = with_whole_sample();
  EXPECT_FALSE(Sample(150).taken(stacks).stack.is_whole());
  EXPECT_TRUE(Sample(80).taken(stacks).stack.is_whole());
  for (int i = 0; i < 3; ++i) {
    const Sample deeper = Sample(130).taken(stacks);
    EXPECT_TRUE(deeper.stack.is_whole());
    EXPECT_EQ(deeper.stack.frames.size(), 131);
    EXPECT_EQ(deeper.added(), 66);
  }
}

TEST(OuterStacks, ForgetWhatIsInsideOfALessDeepSample) {
  OuterStacks stacks = with_whole_sample();
  EXPECT_TRUE(Sample(17).taken(stacks).stack.is_whole());
  EXPECT_FALSE(Sample(80).taken(stacks).stack.is_whole());
}

TEST(OuterStacks, RequireWordsInCommon) {
  // The piece ends 16 frames from the top. Of 18 frames, what is inside of the last call's return address is not kept.
  for (const auto& [depth, is_enough] : {std::pair(18U, false), std::pair(19U, true)}) {
    OuterStacks stacks;
    Sample(depth).taken(stacks);
    EXPECT_EQ(Sample(80).taken(stacks).stack.is_whole(), is_enough) << depth;
  }
}

TEST(OuterStacks, RequireTheSameWordsAndNeverUseOthersAgain) {
  OuterStacks stacks = with_whole_sample();
  EXPECT_FALSE(Sample(80, 4096, 1).taken(stacks).stack.is_whole());
  EXPECT_FALSE(Sample(80).taken(stacks).stack.is_whole());
  stacks = with_whole_sample();
  Sample changed(80);
  changed.words[changed.words.size() - 128 / 8] ^= 1;
  EXPECT_FALSE(changed.taken(stacks).stack.is_whole());
  stacks = with_whole_sample();
  changed = Sample(80);
  changed.words[changed.words.size() - 256 / 8] ^= 1;  // farther inside, it may have changed
  EXPECT_TRUE(changed.taken(stacks).stack.is_whole());
}

TEST(OuterStacks, RequireTheSameFrames) {
  const auto is_whole_with = [](auto change) {
    OuterStacks stacks = with_whole_sample();
    Sample sample(80);
    change(sample.stack);
    return sample.taken(stacks).stack.is_whole();
  };
  EXPECT_TRUE(is_whole_with([](Stack&) {}));
  EXPECT_FALSE(is_whole_with([](Stack& stack) { stack.frames.back().pc += 1; }));
  EXPECT_FALSE(is_whole_with([](Stack& stack) { stack.frames[stack.frames.size() - 2].pc += 1; }));
  EXPECT_FALSE(is_whole_with([](Stack& stack) { stack.bases.back().frame_pointer += 8; }));
  EXPECT_FALSE(is_whole_with([](Stack& stack) { stack.bases.back().stack_pointer += 8; }));
  EXPECT_FALSE(is_whole_with([](Stack& stack) { stack.bases.back().knows_stack_pointer = false; }));
  EXPECT_FALSE(is_whole_with([](Stack& stack) {  // a frame of which there are two in what is kept
    stack.frames.erase(stack.frames.end() - 3);
    stack.bases.erase(stack.bases.end() - 3);
  }));
  // Frames that the kernel's chain has added, or another reason.
  EXPECT_FALSE(is_whole_with([](Stack& stack) { stack.frames.push_back(stack.frames.back()); }));
  EXPECT_FALSE(is_whole_with([](Stack& stack) { stack.stop = Stop::NoRow; }));
}

TEST(OuterStacks, RequireTheSameFramePointerIfItLeadsToTheStack) {
  for (const auto& [first, second, is_whole] :
       {std::tuple(5U, 6U, true), std::tuple(5U, 5U, true), std::tuple(5U, 0U, false), std::tuple(0U, 6U, false)}) {
    OuterStacks stacks;
    Sample earlier(50), later(80);
    for (auto& base : earlier.stack.bases) base.frame_pointer = first != 0 ? first : base.frame_pointer;
    for (auto& base : later.stack.bases) base.frame_pointer = second != 0 ? second : base.frame_pointer;
    earlier.taken(stacks);
    EXPECT_EQ(later.taken(stacks).stack.is_whole(), is_whole) << first << ' ' << second;
  }
}

TEST(OuterStacks, RequireThatTheCallerIsBeyondWhatWasRecorded) {
  OuterStacks stacks = with_whole_sample();
  Sample sample(80);
  sample.stack.frames.pop_back();
  sample.stack.bases.pop_back();
  EXPECT_FALSE(sample.taken(stacks).stack.is_whole());
}

TEST(OuterStacks, AreOfOneThreadOfOneProgram) {
  OuterStacks stacks = with_whole_sample();
  EXPECT_FALSE(Sample(80).taken(stacks, {1, 2, 0}).stack.is_whole());
  EXPECT_FALSE(Sample(80).taken(stacks, {1, 1, 1}).stack.is_whole());
  EXPECT_FALSE(Sample(80).taken(stacks).stack.is_whole());
  EXPECT_EQ(stacks.threads(), 0);
  EXPECT_EQ(stacks.size(), 0);
}

TEST(OuterStacks, AreForgottenWithTheThreadAndItsMapping) {
  OuterStacks stacks = with_whole_sample();
  stacks.forget_range(2, 0, UINT64_MAX);
  stacks.forget_range(1, 0, top - 50 * frame_size);
  stacks.forget_range(1, top, UINT64_MAX);
  stacks.forget_thread(2);
  EXPECT_TRUE(Sample(80).taken(stacks).stack.is_whole());
  stacks.forget_range(1, top - frame_size, top);
  EXPECT_EQ(stacks.threads(), 0);
  Sample(50).taken(stacks);
  stacks.forget_thread(1);
  EXPECT_EQ(stacks.threads(), 0);
  EXPECT_EQ(stacks.size(), 0);
}

TEST(OuterStacks, KeepLittleOfManyThreads) {
  OuterStacks stacks;
  const Sample large(900, 1 << 20U);
  for (int thread = 1; thread < 4000; ++thread) {
    Sample(large).taken(stacks, {1, thread, 0});
    Sample(50).taken(stacks, {1, 1, 0});
    ASSERT_LE(stacks.threads(), OuterStacks::most_threads);
    ASSERT_LE(stacks.size(), OuterStacks::most_bytes);
  }
  EXPECT_TRUE(Sample(80).taken(stacks).stack.is_whole());
  EXPECT_FALSE(Sample(80).taken(stacks, {1, 1000, 0}).stack.is_whole());
}

TEST(OuterStacks, KeepTheOuterPartOfALargeStack) {
  OuterStacks stacks;
  Sample(100'000, 1 << 24U).taken(stacks);
  EXPECT_LE(stacks.size(), 4U << 20U);
  const std::uint64_t kept = OuterStacks::most_words * 8 / frame_size;
  EXPECT_TRUE(Sample(kept + 50).taken(stacks).stack.is_whole());
  EXPECT_FALSE(Sample(kept + 100).taken(stacks).stack.is_whole());
}

TEST(OuterStacks, TakeAnyNumbers) {
  OuterStacks stacks = with_whole_sample();
  const std::vector<std::uint64_t> words(64);
  const auto bytes = std::as_bytes(std::span(words));
  for (const std::uint64_t address :
       {std::uint64_t{0}, std::uint64_t{1}, UINT64_MAX - 7, UINT64_MAX - 511, top - 8, top - 7}) {
    for (const std::uint64_t sp : {std::uint64_t{0}, address, address + 8, address + 512, UINT64_MAX}) {
      for (const Stop stop : {Stop::Outermost, Stop::UnreadableMemory}) {
        Stack stack{.frames = {{.pc = 1}, {.pc = 2}, {.pc = 3}}, .stop = stop};
        for (const std::uint64_t place : {sp, sp, sp + 8})
          stack.bases.push_back({.stack_pointer = place, .knows_stack_pointer = true});
        stacks.take({1, 1, 0}, {address, bytes}, stack);
        stacks.take({1, 1, 0}, {address, bytes.first(7)}, stack);
        stacks.take({1, 1, 0}, {address, {}}, stack);
      }
    }
  }
  Stack none;
  stacks.take({1, 1, 0}, {top - 512, bytes}, none);
  EXPECT_LE(stacks.threads(), 1);
}

}  // namespace
}  // namespace sframe_gen::test
