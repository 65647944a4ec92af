// What of this process's memory a walk reads, and what it takes for readable.

#include "unwind/stack_memory.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cerrno>
#include <thread>

#include "sframe_gen/unwind.h"

namespace sframe_gen::unwind::test {
namespace {

constexpr std::uint64_t page = 4096;

/// Pages of which the first and the last cannot be read.
class Pages {
 public:
  explicit Pages(std::size_t readable) : count_(readable + 2) {
    memory_ = ::mmap(nullptr, count_ * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory_ == MAP_FAILED) std::abort();
    ::mprotect(memory_, page, PROT_NONE);
    ::mprotect(static_cast<std::byte*>(memory_) + (count_ - 1) * page, page, PROT_NONE);
  }
  Pages(const Pages&) = delete;
  ~Pages() { ::munmap(memory_, count_ * page); }

  std::uint64_t begin() const { return reinterpret_cast<std::uint64_t>(memory_) + page; }
  std::uint64_t end() const { return begin() + (count_ - 2) * page; }

 private:
  std::size_t count_;
  void* memory_;
};

bool reads(StackMemory& memory, std::uint64_t address) {
  std::uint64_t value = 1;
  return memory.word(address, value) && value == 0;
}

void expect_ends(StackMemory& memory, const Pages& pages) {
  EXPECT_TRUE(reads(memory, pages.end() - 8));
  EXPECT_FALSE(reads(memory, pages.end() - 7));
  EXPECT_FALSE(reads(memory, pages.end()));
  EXPECT_TRUE(reads(memory, pages.begin()));
  EXPECT_FALSE(reads(memory, pages.begin() - 1));
  EXPECT_FALSE(reads(memory, pages.begin() - 8));
  EXPECT_FALSE(reads(memory, ~std::uint64_t{0}));
  EXPECT_FALSE(reads(memory, ~std::uint64_t{0} - 7));
  EXPECT_FALSE(reads(memory, 0));
}

TEST(ReadOwnMemory, SurvivesEachAddressAndKeepsErrno) {
  const Pages pages(2);
  const auto middle = static_cast<std::uint64_t*>(pointer_to(pages.begin() + page));
  middle[-1] = 0x1122334455667788;
  middle[0] = 0x99aabbccddeeff00;
  const auto reads_own = [](std::uint64_t address, std::uint64_t expected) {
    std::uint64_t value = 1;
    errno = ENOTTY;
    const int done = sframe_unwind_read_own_memory(nullptr, address, &value);
    return errno == ENOTTY && value == expected && done == (expected == 1 ? 0 : 1);
  };
  std::uint64_t across = 0;
  std::memcpy(&across, pointer_to(pages.begin() + page - 3), sizeof across);
  EXPECT_TRUE(reads_own(pages.begin(), 0));
  EXPECT_TRUE(reads_own(pages.begin() + page - 3, across));
  EXPECT_TRUE(reads_own(pages.end() - 8, 0));
  // 1: what was there before, and 0 is returned.
  for (const std::uint64_t bad : {pages.begin() - 1, pages.begin() - 8, pages.end() - 7, pages.end(), std::uint64_t{0},
                                  std::uint64_t{7}, ~std::uint64_t{0}, ~std::uint64_t{0} - 7, std::uint64_t{1} << 63U})
    EXPECT_TRUE(reads_own(bad, 1)) << bad;
}

TEST(StackMemory, AsksForEachPage) {
  const Pages pages(3);
  StackMemory nothing({}, {});
  expect_ends(nothing, pages);
  StackMemory middle({pages.begin() + page + 8, pages.begin() + page + 16}, {});
  expect_ends(middle, pages);
}

TEST(IsReadable, DoesNotTakeAnEarlierErrorForAnAnswer) {
  errno = EINVAL;
  EXPECT_FALSE(is_readable(0));
  EXPECT_FALSE(is_readable(7));
  EXPECT_EQ(errno, EINVAL);
}

TEST(IsReadable, AsksForOneByte) {
  const Pages pages(1);
  for (std::uint64_t left = 1; left <= 9; ++left) EXPECT_TRUE(is_readable(pages.end() - left));
  EXPECT_FALSE(is_readable(pages.end()));
}

TEST(StackMemory, ReadsNothingAtAddressZero) {
  StackMemory memory({}, {});
  errno = EINVAL;
  EXPECT_FALSE(reads(memory, 0));
  EXPECT_FALSE(reads(memory, 8));
}

TEST(StackMemory, EndsWhereTheMainStackEnds) {
  const Pages pages(3);
  const Range main_stack{pages.begin(), pages.end()};
  StackMemory on_it({pages.begin() + 8, pages.begin() + 16}, main_stack);
  expect_ends(on_it, pages);
  StackMemory elsewhere({}, main_stack);
  expect_ends(elsewhere, pages);
  // Not whole pages: what the kernel says is; nothing but the range is believed.
  StackMemory part({}, {pages.begin() + 100, pages.end() - 100});
  expect_ends(part, pages);
}

TEST(StackMemory, GoesOverToTheMainStackFromAnother) {
  const Pages main_stack(2);
  const Pages coroutine(2);
  StackMemory memory({coroutine.begin(), coroutine.begin() + 8}, {main_stack.begin(), main_stack.end()});
  for (int i = 0; i < 2; ++i) {
    expect_ends(memory, coroutine);
    expect_ends(memory, main_stack);
  }
}

TEST(StackMemory, LeavesOutWhatLiesBelowTheMainStack) {
  // One readable mapping, as that of a coroutine right below would be: of the lower half each page is asked for.
  const Pages pages(4);
  StackMemory memory({pages.end() - 16, pages.end() - 8}, {pages.begin() + 2 * page, pages.end()});
  EXPECT_TRUE(reads(memory, pages.begin() + page));
  ASSERT_EQ(::mprotect(pointer_to(pages.begin()), page, PROT_NONE), 0);
  EXPECT_FALSE(reads(memory, pages.begin()));
  EXPECT_TRUE(reads(memory, pages.begin() + 2 * page - 4));
}

TEST(MainStack, IsWhatTheKernelCallsSo) {
  const Pages coroutine(2);
  const Range stack = find_main_stack();
  // Tests run in the first thread.
  EXPECT_TRUE(stack.contains(reinterpret_cast<std::uint64_t>(__builtin_frame_address(0))));
  EXPECT_TRUE(stack.contains(reinterpret_cast<std::uint64_t>(::environ[0])));
  EXPECT_FALSE(stack.contains(coroutine.begin()));
  EXPECT_TRUE(is_readable(stack.begin));
  EXPECT_TRUE(is_readable(stack.end - 8));
  EXPECT_EQ(stack.begin % page, 0U);
  EXPECT_EQ(stack.end % page, 0U);
  std::thread([&] {
    EXPECT_FALSE(stack.contains(reinterpret_cast<std::uint64_t>(__builtin_frame_address(0))));
    const Range same = find_main_stack();
    EXPECT_EQ(same.end, stack.end);
  }).join();
}

}  // namespace
}  // namespace sframe_gen::unwind::test
