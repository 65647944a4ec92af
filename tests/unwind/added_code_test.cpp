// Code of one's own that the backtrace knows: what is added and removed, beside walks. No code runs: a made-up context
// of a signal says that some was interrupted.

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <ucontext.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <thread>

#include "sframe_gen/encode.hpp"
#include "sframe_gen/unwind.h"
#include "unwind/modules.hpp"

#ifdef __x86_64__

namespace sframe_gen::unwind::test::added_code {
namespace {

constexpr std::uint64_t code_size = 0x1000;
constexpr std::uint32_t stack_pointer = 7;  // rsp, as DWARF numbers it

const void* pointer(std::uint64_t address) {
  return reinterpret_cast<const void*>(address);  // NOLINT(performance-no-int-to-ptr): code that is not run
}

/// Two functions, encoded for another place than the bytes have: one whose CFA is SP + `cfa_offset`, and, in the second
/// half of the code, one without a caller.
std::vector<std::byte> section_of(std::uint64_t code, std::int32_t cfa_offset) {
  sframe::Section section;
  section.address = code + 0x100000;
  sframe::Fde caller, outermost;
  caller.start = code;
  caller.size = code_size / 2;
  caller.fres.push_back({0, sframe::RecoveryRules{sframe::Rule{stack_pointer, cfa_offset, false}, {}, {}}});
  outermost.start = code + code_size / 2;
  outermost.size = code_size / 2;
  outermost.fres.push_back({0, {}});
  section.fdes = {caller, outermost};
  return sframe::encode(section);
}

/// Adds it, and overwrites the bytes that were given.
int add(std::uint64_t code, std::int32_t cfa_offset = 8) {
  std::vector<std::byte> section = section_of(code, cfa_offset);
  const int error = sframe_unwind_backtrace_add(pointer(code), pointer(code + code_size), section.data(),
                                                section.size(), code + 0x100000);
  std::fill(section.begin(), section.end(), std::byte{0xcc});
  return error;
}
int remove(std::uint64_t code) {
  return sframe_unwind_backtrace_remove(pointer(code));
}

struct Outcome {
  int count = 0;
  int stop = 0;
  std::array<std::uint64_t, 8> pcs{};
};

/// From the first function of `code`, whose caller is the second one if its CFA is SP + 8.
Outcome walk_from(std::uint64_t code) {
  std::array<std::uint64_t, 4> stack{code + code_size / 2 + 1, 0, 0, 0};
  ucontext_t context{};
  context.uc_mcontext.gregs[REG_RIP] = static_cast<greg_t>(code + 4);
  context.uc_mcontext.gregs[REG_RSP] = reinterpret_cast<greg_t>(stack.data());
  std::array<void*, 8> pcs{};
  Outcome walked;
  walked.count = sframe_unwind_backtrace_stop(pcs.data(), pcs.size(), &context, &walked.stop);
  for (std::size_t i = 0; i != pcs.size(); ++i) walked.pcs.at(i) = reinterpret_cast<std::uint64_t>(pcs.at(i));
  return walked;
}

bool is_whole(const Outcome& walked) {
  return walked.stop == SFRAME_UNWIND_OUTERMOST && walked.count == 2;
}
bool is_unknown(const Outcome& walked) {
  return walked.stop == SFRAME_UNWIND_NO_MODULE && walked.count == 1;
}

/// Addresses that nothing else has. Forgets what was added there.
class AddedCode : public ::testing::Test {
 public:
  AddedCode() {
    void* const memory = ::mmap(nullptr, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) std::abort();
    place = reinterpret_cast<std::uint64_t>(memory);
  }
  ~AddedCode() override {
    sframe_unwind_backtrace_release();
    ::munmap(const_cast<void*>(pointer(place)), size);
  }
  AddedCode(const AddedCode&) = delete;
  AddedCode& operator=(const AddedCode&) = delete;

  static constexpr std::size_t size = 16 * code_size;
  std::uint64_t place = 0;
};

TEST_F(AddedCode, IsWalkedThroughUntilItIsRemoved) {
  EXPECT_TRUE(is_unknown(walk_from(place)));
  ASSERT_EQ(add(place), 0);
  const Outcome walked = walk_from(place);
  EXPECT_TRUE(is_whole(walked));
  EXPECT_EQ(walked.pcs[0], place + 4);
  EXPECT_EQ(walked.pcs[1], place + code_size / 2 + 1);
  EXPECT_TRUE(is_unknown(walk_from(place + code_size)));
  ASSERT_EQ(remove(place), 0);
  EXPECT_TRUE(is_unknown(walk_from(place)));
}

TEST_F(AddedCode, HasTheRowsOfItsNewSectionIfItIsAddedAgain) {
  ASSERT_EQ(add(place, 16), 0);
  EXPECT_EQ(walk_from(place).pcs[1], 0);
  ASSERT_EQ(remove(place), 0);
  ASSERT_EQ(add(place, 8), 0);
  EXPECT_TRUE(is_whole(walk_from(place)));
}

TEST_F(AddedCode, StaysWhenFilesAreLookedAtAgain) {
  ASSERT_EQ(sframe_unwind_backtrace_prepare(), 0);
  ASSERT_EQ(add(place), 0);
  void* const library = ::dlopen("libdl.so.2", RTLD_NOW);
  const auto nothing = [](void*, const char*, std::uint64_t, const void**, std::size_t*, std::uint64_t*) {
    return ENOENT;
  };
  ASSERT_EQ(sframe_unwind_backtrace_prepare_with(nothing, nullptr, SFRAME_UNWIND_PROVIDE_ALL), 0);
  EXPECT_TRUE(is_whole(walk_from(place)));
  if (library != nullptr) ::dlclose(library);
  ASSERT_EQ(sframe_unwind_backtrace_prepare(), 0);
  EXPECT_TRUE(is_whole(walk_from(place)));
}

/// A provider that counts.
int count_file(void* context, const char*, std::uint64_t, const void**, std::size_t*, std::uint64_t*) {
  ++*static_cast<int*>(context);
  return ENOENT;
}

TEST_F(AddedCode, DoesNotKeepFilesFromTheirProvider) {
  int asked = 0, asked_once = 0;
  ASSERT_EQ(sframe_unwind_backtrace_prepare_with(count_file, &asked_once, SFRAME_UNWIND_PROVIDE_ALL), 0);
  sframe_unwind_backtrace_release();
  ASSERT_EQ(add(place), 0);
  ASSERT_EQ(sframe_unwind_backtrace_prepare_with(count_file, &asked, SFRAME_UNWIND_PROVIDE_ALL), 0);
  EXPECT_EQ(asked, asked_once);
  EXPECT_NE(asked, 0);
  ASSERT_EQ(remove(place), 0);
  ASSERT_EQ(sframe_unwind_backtrace_prepare_with(count_file, &asked, SFRAME_UNWIND_PROVIDE_ALL), 0);
  EXPECT_EQ(asked, asked_once);
}

TEST_F(AddedCode, IsForgottenByRelease) {
  ASSERT_EQ(add(place), 0);
  sframe_unwind_backtrace_release();
  EXPECT_TRUE(is_unknown(walk_from(place)));
  EXPECT_EQ(remove(place), ENOENT);
  EXPECT_EQ(add(place), 0);
  EXPECT_TRUE(is_whole(walk_from(place)));
}

TEST_F(AddedCode, MayBeNextToOtherCodeButNotOverIt) {
  const std::uint64_t second = place + code_size;
  ASSERT_EQ(add(second), 0);
  EXPECT_EQ(add(place), 0);
  EXPECT_EQ(add(second + code_size), 0);
  EXPECT_EQ(add(second), EEXIST);
  EXPECT_EQ(add(second - 1), EEXIST);
  EXPECT_EQ(add(second + code_size - 1), EEXIST);
  const std::vector<std::byte> section = section_of(place, 8);
  EXPECT_EQ(sframe_unwind_backtrace_add(pointer(place - 1), pointer(place + size), section.data(), section.size(),
                                        place + 0x100000),
            EEXIST);
  for (std::uint64_t i = 0; i != 3; ++i) EXPECT_TRUE(is_whole(walk_from(place + i * code_size)));
}

int in_this_file;

TEST_F(AddedCode, MayNotBeInALoadedFile) {
  EXPECT_EQ(add(reinterpret_cast<std::uint64_t>(&in_this_file)), EEXIST);
  EXPECT_EQ(add(reinterpret_cast<std::uint64_t>(&std::memcpy)), EEXIST);
}

TEST_F(AddedCode, NeedsARangeAndAGoodSectionOfThisMachine) {
  const auto add_bytes = [&](std::uint64_t begin, std::uint64_t end, std::vector<std::byte> section) {
    return sframe_unwind_backtrace_add(pointer(begin), pointer(end), section.data(), section.size(), place + 0x100000);
  };
  const std::vector<std::byte> good = section_of(place, 8);
  EXPECT_EQ(add_bytes(place, place, good), EINVAL);
  EXPECT_EQ(add_bytes(place + 1, place, good), EINVAL);
  EXPECT_EQ(add_bytes(place, place + 1, {}), EINVAL);
  EXPECT_EQ(add_bytes(place, place + 1, {good.begin(), good.end() - 1}), EINVAL);
  std::vector<std::byte> wrong = good;
  wrong[4] = std::byte{2};  // ABI: aarch64
  EXPECT_EQ(add_bytes(place, place + 1, wrong), EINVAL);
  EXPECT_EQ(sframe_unwind_backtrace_add(pointer(place), pointer(place + 1), good.data(), SIZE_MAX, 0), ENOMEM);
  EXPECT_TRUE(is_unknown(walk_from(place)));
  EXPECT_EQ(remove(place), ENOENT);
  EXPECT_EQ(add_bytes(place, place + code_size, good), 0);
  EXPECT_EQ(remove(place + 1), ENOENT);
  EXPECT_TRUE(is_whole(walk_from(place)));
}

/// Of this process, in pages. A list of modules takes more than 32.
std::size_t mapped_pages() {
  std::size_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  return pages;
}

/// Threads that walk without a pause: there is always a walk under way, on a machine with two processors.
class WalkingThreads {
 public:
  explicit WalkingThreads(std::uint64_t always, std::uint64_t sometimes) {
    for (std::thread& thread : threads_) thread = std::thread([this, always, sometimes] { walk(always, sometimes); });
    while (walks_ < 1000) std::this_thread::yield();
  }
  long wrong_ones() {
    is_done_ = true;
    for (std::thread& thread : threads_) thread.join();
    return wrong_;
  }

 private:
  void walk(std::uint64_t always, std::uint64_t sometimes) {
    for (; !is_done_; ++walks_) {
      const Outcome other = walk_from(sometimes);
      if (!is_whole(walk_from(always)) || (!is_whole(other) && !is_unknown(other))) ++wrong_;
    }
  }

  std::atomic<long> walks_ = 0, wrong_ = 0;
  std::atomic<bool> is_done_ = false;
  std::array<std::thread, 4> threads_;
};

TEST_F(AddedCode, ComesAndGoesBesideWalks) {
  constexpr int rounds = 300;
  const std::uint64_t sometimes = place + 2 * code_size;
  ASSERT_EQ(add(place), 0);
  WalkingThreads threads(place, sometimes);
  for (int round = 0; round != rounds; ++round) {
    EXPECT_EQ(add(sometimes), 0);
    EXPECT_EQ(round % 8 == 0 ? sframe_unwind_backtrace_prepare() : 0, 0);
    EXPECT_EQ(remove(sometimes), 0);
  }
  EXPECT_EQ(threads.wrong_ones(), 0);
}

// Each walk begins before the last one ends, so there is always one: lists that no walk has are freed all the same.
TEST_F(AddedCode, IsFreedBesideWalksThatOverlap) {
  constexpr int rounds = 100;
  unsigned last = 0;
  enter_modules(last);
  const std::size_t mapped_before = mapped_pages();
  for (int round = 0; round != rounds; ++round) {
    EXPECT_EQ(add(place), 0);
    unsigned next = 0;
    enter_modules(next);
    EXPECT_EQ(remove(place), 0);
    leave_modules(last);
    last = next;
  }
  EXPECT_LT(mapped_pages(), mapped_before + 32 * rounds / 10);
  leave_modules(last);
}

TEST_F(AddedCode, StaysForAWalkThatHasItUntilThatEnds) {
  ASSERT_EQ(add(place), 0);
  unsigned turn = 0;
  const LoadedModules& list = enter_modules(turn);
  EXPECT_EQ(remove(place), 0);
  for (std::uint64_t i = 1; i != 8; ++i) EXPECT_EQ(add(place + i * code_size), 0);
  ASSERT_FALSE(list.modules.empty());
  bool found = false;
  for (const LoadedModule& module : list.modules) {
    found |= module.begin == place && module.own.view.lookup(place).kind == sframe::Lookup::Kind::Row;
  }
  EXPECT_TRUE(found);
  leave_modules(turn);
}

TEST_F(AddedCode, LeavesNoLockBehindInAThreadThatIsCanceled) {
  std::uint64_t code = place;
  pthread_t thread{};
  const auto cancel_and_add = [](void* added) -> void* {
    ::pthread_cancel(::pthread_self());
    (void)add(*static_cast<std::uint64_t*>(added));  // opens and reads files, at which a thread is canceled
    ::pthread_testcancel();
    return nullptr;
  };
  ASSERT_EQ(::pthread_create(&thread, nullptr, cancel_and_add, &code), 0);
  void* result = nullptr;
  ASSERT_EQ(::pthread_join(thread, &result), 0);
  EXPECT_EQ(result, PTHREAD_CANCELED);
  // As a whole; and nobody has the lock.
  EXPECT_EQ(remove(place), 0);
}

TEST_F(AddedCode, AProviderWithoutMemoryIsAskedAgain) {
  struct Asked {
    int error;
    int count;
  } asked{ENOMEM, 0};
  const auto provide = [](void* context, const char*, std::uint64_t, const void**, std::size_t*, std::uint64_t*) {
    auto& told = *static_cast<Asked*>(context);
    ++told.count;
    return told.error;
  };
  const auto count_when_asked = [&] {
    asked.count = 0;
    EXPECT_EQ(sframe_unwind_backtrace_prepare_with(provide, &asked, SFRAME_UNWIND_PROVIDE_ALL), 0);
    return asked.count;
  };
  const int files = count_when_asked();
  EXPECT_GT(files, 0);
  asked.error = ENOENT;
  EXPECT_EQ(count_when_asked(), files);
  EXPECT_EQ(count_when_asked(), 0);
}

TEST_F(AddedCode, AProvidedSectionThatIsDamagedIsNamed) {
  const auto provide = [](void*, const char*, std::uint64_t, const void** bytes, std::size_t* bytes_size,
                          std::uint64_t* address) {
    static constexpr std::array<std::byte, 64> damaged{};
    *bytes = damaged.data();
    *bytes_size = damaged.size();
    *address = 0;
    return 0;
  };
  ASSERT_EQ(sframe_unwind_backtrace_prepare_with(provide, nullptr, 0), 0);
  EXPECT_EQ(walk_from(reinterpret_cast<std::uint64_t>(&is_unknown)).stop, SFRAME_UNWIND_BAD_SECTION);
}

}  // namespace
}  // namespace sframe_gen::unwind::test::added_code

#endif
