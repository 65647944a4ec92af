#include "support/begin_beside.hpp"

#include <pthread.h>
#include <sched.h>

#include <atomic>
#include <memory>
#include <utility>

namespace sframe_gen {

namespace {

/// Where the creator may run, and so may its threads.
struct Processors {
  cpu_set_t all{};
  bool are_known = ::sched_getaffinity(0, sizeof all, &all) == 0;  // not where there are more than a cpu_set_t has
  std::atomic<bool> is_placed = false;

  /// Of the creator.
  void place(std::thread::native_handle_type thread) {
    cpu_set_t others = all;
    const int own = ::sched_getcpu();
    if (are_known && own >= 0 && own < CPU_SETSIZE) CPU_CLR(static_cast<unsigned>(own), &others);
    if (are_known && CPU_COUNT(&others) != 0) ::pthread_setaffinity_np(thread, sizeof others, &others);
    is_placed = true;
  }

  /// Of the thread.
  void release() const {
    while (!is_placed) std::this_thread::yield();
    if (are_known) ::sched_setaffinity(0, sizeof all, &all);
  }
};

}  // namespace

std::jthread begin_beside(std::function<void()> work) {
  const auto processors = std::make_shared<Processors>();
  std::jthread thread([processors, work = std::move(work)] {
    processors->release();
    work();
  });
  processors->place(thread.native_handle());
  return thread;
}

}  // namespace sframe_gen
