#include "support/begin_beside.hpp"

#include <pthread.h>
#include <sched.h>

#include <atomic>
#include <memory>
#include <utility>

namespace sframe_gen {

namespace {

/// All but the caller's. Where there is no other, or more than a cpu_set_t has, nothing is to be done.
void place_on_others(std::thread::native_handle_type thread) {
  cpu_set_t others;
  const int own = ::sched_getcpu();
  if (own < 0 || ::sched_getaffinity(0, sizeof others, &others) != 0) return;
  CPU_CLR(static_cast<unsigned>(own), &others);
  if (CPU_COUNT(&others) != 0) ::pthread_setaffinity_np(thread, sizeof others, &others);
}

}  // namespace

std::jthread begin_beside(std::function<void()> work) {
  // glibc places the caller instead of a thread that has ended.
  const auto is_placed = std::make_shared<std::atomic<bool>>(false);
  std::jthread thread([is_placed, work = std::move(work)] {
    while (!*is_placed) std::this_thread::yield();
    work();
  });
  place_on_others(thread.native_handle());
  *is_placed = true;
  return thread;
}

}  // namespace sframe_gen
