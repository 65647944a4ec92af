#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>

namespace sframe_gen {

/// The number of processors that the caller may run on (taskset, cpusets), at least 1.
std::size_t usable_processors();

/// How many threads are worth using for `work` if each is to get at least `least_per_worker` of it: 1 to 8.
std::size_t workers_for(std::size_t work, std::size_t least_per_worker);

/// Work that one of the program's worker threads does, or the caller of get() if no thread has begun it by then. So a
/// caller never waits for work that has not begun, tasks may start tasks and wait for them, and everything works, one
/// after the other, if the system gives no threads.
class Async {
 public:
  Async() = default;
  /// Work that has begun is waited for; other work is dropped.
  ~Async() { drop(); }
  Async(const Async&) = delete;
  Async& operator=(const Async&) = delete;
  Async(Async&&) = default;
  Async& operator=(Async&& other) noexcept;

  bool valid() const { return task_ != nullptr; }
  /// Returns when the work is done, once. Throws what the work threw.
  void get();
  /// The same, if the work has begun; else it is dropped.
  void get_if_begun();
  /// Waits for a thread to do the work. Returns false if it is not done after `time`.
  bool wait_for(std::chrono::milliseconds time) const;

 private:
  friend Async async(std::function<void()> work);
  friend class Workers;
  struct Task;

  void drop();

  std::shared_ptr<Task> task_;
};

/// Gives `work` to the worker threads. They take what they are given in that order.
[[nodiscard]] Async async(std::function<void()> work);

/// Calls `work(index, worker)` for each index below `count`, in the caller and in up to `workers` - 1 worker threads
/// that have nothing else to do. Each has a number `worker` below `workers` of its own. Throws what `work` threw first
/// in one of them.
void parallel_for(std::size_t count, std::size_t workers,
                  const std::function<void(std::size_t index, std::size_t worker)>& work);

/// Starts `count` worker threads for a caller that only waits for them. Returns how many there are. Without this call,
/// threads start when there is work for them, one less than there are processors.
std::size_t start_workers(std::size_t count);

/// Keeps the workers that are started from now on off the processor of the thread that starts them. Some kernels, to
/// let other processors sleep, queue a new thread on its creator's until the time slice of that ends, and bring it back
/// there: 2 ms, longer than most work here. For programs of short life: the workers stay off that processor for good,
/// and their creator may have moved on.
void keep_workers_beside_caller();

/// Calls `work` in a thread that ends with it, for callers that need what the kernel does when a thread ends. Throws
/// what `work` threw, or std::system_error if the system gives no thread.
void call_in_own_thread(const std::function<void()>& work);

}  // namespace sframe_gen
