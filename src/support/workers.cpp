#include "support/workers.hpp"

#include <link.h>
#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <mutex>
#include <new>
#include <span>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace sframe_gen {

struct Async::Task {
  enum class State : unsigned char { Waits, Runs, Done };

  std::function<void()> work;
  State state = State::Waits;
  std::exception_ptr failure;
};

namespace {

std::atomic<bool> kept_beside_caller = false;

/// Keeps a thread off the caller's processor, if there is another.
void place_beside_caller(std::thread& thread) {
  cpu_set_t others;
  const int own = ::sched_getcpu();
  if (own < 0 || ::sched_getaffinity(0, sizeof others, &others) != 0) return;
  CPU_CLR(static_cast<unsigned>(own), &others);
  if (CPU_COUNT(&others) != 0) ::pthread_setaffinity_np(thread.native_handle(), sizeof others, &others);
}

/// Whether this code is in the program itself, which is never unloaded, and not in a library.
bool is_in_program() {
  bool is_inside = false;
  const auto visit = [](dl_phdr_info* info, std::size_t, void* result) {
    const std::uint64_t own = reinterpret_cast<std::uintptr_t>(&kept_beside_caller) - info->dlpi_addr;
    for (const ElfW(Phdr) & segment : std::span(info->dlpi_phdr, info->dlpi_phnum))
      if (segment.p_type == PT_LOAD && own - segment.p_vaddr < segment.p_memsz) *static_cast<bool*>(result) = true;
    return 1;  // the program is the first
  };
  ::dl_iterate_phdr(visit, &is_inside);
  return is_inside;
}

/// Has a destructor that runs when the thread ends. Until then, the C library does not unload the module whose code
/// that is, even after dlclose(): workers sleep in it for ever.
struct KeepsModule {
  KeepsModule() = default;
  ~KeepsModule() { ended = true; }
  KeepsModule(const KeepsModule&) = delete;
  KeepsModule& operator=(const KeepsModule&) = delete;
  volatile bool ended = false;
};

}  // namespace

/// The worker threads, and the tasks that no thread has begun.
class Workers {
 public:
  using Task = Async::Task;

  /// Never destroyed: its threads sleep until the program ends, and a child process of fork() has none.
  static Workers& instance() {
    static Workers& workers = *new Workers;
    return workers;
  }

  void give(std::shared_ptr<Task> task) {
    const std::lock_guard lock(mutex_);
    tasks_.push_back(std::move(task));
    if (tasks_.size() <= idle_) return given_.notify_one();
    if (threads_ < most_) start_thread(kept_beside_caller);
  }

  std::size_t start(std::size_t count) {
    const std::lock_guard lock(mutex_);
    while (threads_ < count && start_thread(false)) {
    }
    return threads_;
  }

  /// Returns false if the task has begun. Else no thread will begin it.
  bool take(const std::shared_ptr<Task>& task) {
    const std::lock_guard lock(mutex_);
    if (task->state != Task::State::Waits) return false;
    std::erase(tasks_, task);
    task->state = Task::State::Runs;
    return true;
  }

  void wait(const Task& task) {
    std::unique_lock lock(mutex_);
    done_.wait(lock, [&] { return task.state == Task::State::Done; });
  }

  bool wait_for(const Task& task, std::chrono::milliseconds time) {
    std::unique_lock lock(mutex_);
    return done_.wait_for(lock, time, [&] { return task.state == Task::State::Done; });
  }

 private:
  /// The mutex must not be locked in a child process, by a thread that it does not have.
  Workers() {
    ::pthread_atfork([] { instance().mutex_.lock(); }, [] { instance().mutex_.unlock(); },
                     [] { instance().mutex_.unlock(); });
  }

  /// Returns false if the system gives no more threads, or no memory for one.
  bool start_thread(bool beside_caller) try {
    std::thread thread([this] { run(); });
    ++threads_;
    if (beside_caller) place_beside_caller(thread);
    thread.detach();
    return true;
  } catch (const std::system_error&) {
    return false;
  } catch (const std::bad_alloc&) {
    return false;
  }

  static void keep_module() { thread_local const KeepsModule keeps_module; }

  void run() {
    // It takes memory, without which the C library ends the program.
    if (!is_in_program()) keep_module();
    std::unique_lock lock(mutex_);
    for (;;) {
      ++idle_;
      given_.wait(lock, [&] { return !tasks_.empty(); });
      --idle_;
      const std::shared_ptr<Task> task = std::move(tasks_.front());
      tasks_.pop_front();
      task->state = Task::State::Runs;
      lock.unlock();
      try {
        task->work();
      } catch (...) {
        task->failure = std::current_exception();
      }
      lock.lock();
      task->state = Task::State::Done;
      done_.notify_all();
    }
  }

  const std::size_t most_ = usable_processors() - 1;
  std::mutex mutex_;
  std::condition_variable given_, done_;
  std::deque<std::shared_ptr<Task>> tasks_;  ///< that have not begun
  std::size_t idle_ = 0;                     ///< threads that wait for a task
  std::size_t threads_ = 0;
};

Async& Async::operator=(Async&& other) noexcept {
  drop();
  task_ = std::move(other.task_);
  return *this;
}

void Async::drop() {
  const auto task = std::exchange(task_, nullptr);
  if (task != nullptr && !Workers::instance().take(task)) Workers::instance().wait(*task);
}

void Async::get() {
  if (Workers::instance().take(task_)) return std::exchange(task_, nullptr)->work();
  get_if_begun();
}

void Async::get_if_begun() {
  const auto task = std::exchange(task_, nullptr);
  if (Workers::instance().take(task)) return;
  Workers::instance().wait(*task);
  if (task->failure) std::rethrow_exception(task->failure);
}

bool Async::wait_for(std::chrono::milliseconds time) const {
  return Workers::instance().wait_for(*task_, time);
}

Async async(std::function<void()> work) {
  const auto task = std::make_shared<Async::Task>();
  task->work = std::move(work);
  // Only what has been given can be taken back.
  Workers::instance().give(task);
  Async given;
  given.task_ = task;
  return given;
}

void parallel_for(std::size_t count, std::size_t workers,
                  const std::function<void(std::size_t index, std::size_t worker)>& work) {
  std::atomic<std::size_t> next = 0;
  const auto run = [&](std::size_t worker) {
    for (std::size_t i = next++; i < count; i = next++) work(i, worker);
  };
  std::vector<Async> others;
  for (std::size_t worker = 1; worker < std::min(workers, count); ++worker)
    others.push_back(async([&run, worker] { run(worker); }));
  run(0);
  // All work is done or under way: what has not begun has nothing to do.
  for (Async& other : others) other.get_if_begun();
}

void keep_workers_beside_caller() {
  kept_beside_caller = true;
}

std::size_t start_workers(std::size_t count) {
  return Workers::instance().start(count);
}

void call_in_own_thread(const std::function<void()>& work) {
  std::exception_ptr failure;
  std::thread([&] {
    try {
      work();
    } catch (...) {
      failure = std::current_exception();
    }
  }).join();
  if (failure) std::rethrow_exception(failure);
}

std::size_t usable_processors() {
  // std::thread asks glibc, which opens a file of sysfs and does not know of such limits.
  cpu_set_t usable;
  if (::sched_getaffinity(0, sizeof usable, &usable) == 0)
    return static_cast<std::size_t>(std::max(1, CPU_COUNT(&usable)));
  // More than a cpu_set_t has.
  return std::max(1U, std::thread::hardware_concurrency());
}

std::size_t workers_for(std::size_t work, std::size_t least_per_worker) {
  constexpr std::size_t most = 8;
  return std::clamp(std::min(work / least_per_worker, usable_processors()), std::size_t{1}, most);
}

}  // namespace sframe_gen
