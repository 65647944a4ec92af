#include "support/workers.hpp"

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <future>
#include <numeric>
#include <stdexcept>
#include <thread>
#include <vector>

#include "support/places.hpp"

namespace sframe_gen {
namespace {

using namespace std::chrono_literals;

/// Keeps all worker threads busy, until release().
class AllBusy {
 public:
  AllBusy() {
    const std::size_t threads = start_workers(2);
    for (std::size_t i = 0; i < threads; ++i)
      tasks_.push_back(async([this] {
        ++busy_;
        end_.wait();
      }));
    while (busy_ < threads) std::this_thread::yield();
  }
  void release() { may_end_.set_value(); }

 private:
  std::promise<void> may_end_;
  std::shared_future<void> end_ = may_end_.get_future();
  std::atomic<std::size_t> busy_ = 0;
  std::vector<Async> tasks_;
};

const auto fail = [] { throw std::runtime_error("no"); };

TEST(Async, RunsInAnotherThread) {
  start_workers(1);
  std::thread::id by;
  Async work = async([&] { by = std::this_thread::get_id(); });
  while (!work.wait_for(1ms)) {
  }
  work.get();
  EXPECT_FALSE(work.valid());
  EXPECT_NE(by, std::thread::id());
  EXPECT_NE(by, std::this_thread::get_id());
}

TEST(Async, CallerDoesWhatHasNotBegun) {
  AllBusy busy;
  std::thread::id by;
  Async work = async([&] { by = std::this_thread::get_id(); });
  EXPECT_FALSE(work.wait_for(1ms));
  work.get();
  EXPECT_EQ(by, std::this_thread::get_id());
  busy.release();
}

TEST(Async, DropsWhatHasNotBegun) {
  AllBusy busy;
  bool done = false;
  {
    const Async work = async([&] { done = true; });
  }
  Async work = async([&] { done = true; });
  work.get_if_begun();
  work = async([&] { done = true; });
  work = Async();
  busy.release();
  EXPECT_FALSE(done);
}

TEST(Async, EndWaitsForWhatHasBegun) {
  start_workers(1);
  bool done = false;
  {
    std::promise<void> begun;
    const Async work = async([&] {
      begun.set_value();
      std::this_thread::sleep_for(2ms);
      done = true;
    });
    begun.get_future().wait();
  }
  EXPECT_TRUE(done);
}

TEST(Async, ThrowsWhatTheWorkThrew) {
  start_workers(1);
  for (const bool waits : {false, true}) {
    Async work = async(fail);
    while (waits && !work.wait_for(1ms)) {
    }
    EXPECT_THROW(work.get(), std::runtime_error);
  }
  Async work = async(fail);
  while (!work.wait_for(1ms)) {
  }
  EXPECT_THROW(work.get_if_begun(), std::runtime_error);
  const Async forgotten = async(fail);
}

TEST(Async, TasksStartTasksAndWaitForThem) {
  std::atomic<int> done = 0;
  const std::function<void(int)> divide = [&](int depth) {
    ++done;
    if (depth == 0) return;
    Async half = async([&, depth] { divide(depth - 1); });
    divide(depth - 1);
    half.get();
  };
  divide(10);
  EXPECT_EQ(done, 2047);
}

TEST(Async, CreatorStaysWhereItIs) {
  cpu_set_t before, after;
  ASSERT_EQ(::sched_getaffinity(0, sizeof before, &before), 0);
  for (int i = 0; i < 1000; ++i) async([] {}).get();
  ASSERT_EQ(::sched_getaffinity(0, sizeof after, &after), 0);
  EXPECT_TRUE(CPU_EQUAL(&before, &after));
}

TEST(Async, WorksInAChildProcessThatHasNoThreads) {
  start_workers(2);
  const pid_t child = ::fork();
  if (child == 0) {
    int done = 0;
    async([&] { ++done; }).get();
    std::atomic<int> calls = 0;
    parallel_for(10, 3, [&](std::size_t, std::size_t) { ++calls; });
    // Not by std::exit: LeakSanitizer would count what glibc keeps of the parent's threads.
    std::_Exit(done + calls);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 11);
}

TEST(ParallelFor, CallsEachIndexOnceByOneOfTheWorkers) {
  for (const std::size_t workers : {1U, 2U, 5U}) {
    for (const std::size_t count : {0U, 1U, 3U, 1000U}) {
      std::vector<int> calls(count);
      std::vector<std::size_t> by_worker(workers);
      parallel_for(count, workers, [&](std::size_t i, std::size_t worker) {
        ++calls[i];
        ++by_worker.at(worker);
      });
      EXPECT_EQ(calls, std::vector<int>(count, 1));
      EXPECT_EQ(std::accumulate(by_worker.begin(), by_worker.end(), std::size_t{0}), count);
    }
  }
}

TEST(ParallelFor, NestsInItself) {
  std::atomic<int> calls = 0;
  parallel_for(20, 4,
               [&](std::size_t, std::size_t) { parallel_for(20, 4, [&](std::size_t, std::size_t) { ++calls; }); });
  EXPECT_EQ(calls, 400);
}

TEST(ParallelFor, ThrowsWhatAWorkerThrew) {
  const auto fail_at_all = [](std::size_t, std::size_t) { fail(); };
  EXPECT_THROW(parallel_for(8, 1, fail_at_all), std::runtime_error);
  EXPECT_THROW(parallel_for(8, 3, fail_at_all), std::runtime_error);
}

TEST(ParallelFor, DoesNotWaitForBusyThreads) {
  AllBusy busy;
  std::vector<std::size_t> by_worker(3);
  parallel_for(1000, 3, [&](std::size_t, std::size_t worker) { ++by_worker.at(worker); });
  EXPECT_EQ(by_worker, (std::vector<std::size_t>{1000, 0, 0}));
  busy.release();
}

TEST(ParallelFor, UsesSeveralThreadsAtOnce) {
  start_workers(1);
  std::atomic<int> begun = 0;
  parallel_for(2, 2, [&](std::size_t, std::size_t) {
    ++begun;
    while (begun < 2) std::this_thread::yield();
  });
}

// LeakSanitizer cannot look through a process whose threads run code of a closed module.
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SFRAME_GEN_LOOKS_FOR_LEAKS
#endif
#endif
#ifndef SFRAME_GEN_LOOKS_FOR_LEAKS
TEST(Workers, KeepTheCodeOfAModuleThatIsClosed) {
  const std::string path = sframe_gen::test::build_folder() + "/tests/worker-module.so";
  void* const module = ::dlopen(path.c_str(), RTLD_NOW);
  ASSERT_NE(module, nullptr) << ::dlerror();
  const auto work = reinterpret_cast<int (*)()>(::dlsym(module, "work_in_a_worker"));
  ASSERT_NE(work, nullptr);
  EXPECT_EQ(work(), 1);
  ASSERT_EQ(::dlclose(module), 0);
  EXPECT_NE(::dlopen(path.c_str(), RTLD_NOW | RTLD_NOLOAD), nullptr);
}
#endif

TEST(CallInOwnThread, EndsWithItsThreadAndThrowsWhatTheWorkThrew) {
  const auto caller = std::this_thread::get_id();
  std::thread::id own;
  call_in_own_thread([&] { own = std::this_thread::get_id(); });
  EXPECT_NE(own, caller);
  EXPECT_THROW(call_in_own_thread([] { throw std::runtime_error("as asked"); }), std::runtime_error);
}

TEST(WorkersFor, IsOneForLittleWorkAndBounded) {
  EXPECT_EQ(workers_for(0, 100), 1U);
  EXPECT_EQ(workers_for(199, 100), 1U);
  EXPECT_GE(workers_for(1 << 20, 100), 1U);
  EXPECT_LE(workers_for(1 << 20, 100), 8U);
}

TEST(UsableProcessors, AreThoseThatTheCallerMayRunOn) {
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
