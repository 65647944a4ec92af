#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <future>
#include <memory>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "support/begin_beside.hpp"

namespace sframe_gen {

/// A thread beside the caller's. It takes what it is given in that order. What it has not begun when the result is
/// asked for is done by whoever asks: a thread that sleeps may take longer to wake up than the work takes, and where
/// the system gives no more threads, nobody else does it.
class Companion {
  /// `condition` is nearly always met within a fraction of that, and who sleeps meanwhile comes back on the processor
  /// of who wakes it. Somebody else's threads get their turns.
  template <typename Condition>
  static void stay_awake(const Condition& condition) {
    constexpr std::chrono::microseconds most{300};
    const auto until = std::chrono::steady_clock::now() + most;
    while (!condition() && std::chrono::steady_clock::now() < until) std::this_thread::yield();
  }

  class Task {
   public:
    template <typename Function>
    explicit Task(Function function) : work_(std::move(function)), done_(work_.get_future()) {}

    /// False: somebody else has.
    bool take() { return !is_taken_.exchange(true); }
    void run() {
      work_();
      is_done_ = true;
    }
    void wait() {
      stay_awake([&] { return is_done_.load(); });
      done_.wait();
    }
    void rethrow() { done_.get(); }

   private:
    std::packaged_task<void()> work_;
    std::future<void> done_;
    std::atomic<bool> is_taken_ = false, is_done_ = false;
  };

 public:
  /// Work that was given. Its end waits for that of the work, or takes it back.
  class Work {
   public:
    Work() = default;
    ~Work() { forget(); }
    Work(const Work&) = delete;
    Work& operator=(const Work&) = delete;
    Work(Work&&) = default;
    Work& operator=(Work&& other) noexcept {
      forget();
      task_ = std::move(other.task_);
      return *this;
    }

    bool valid() const { return task_ != nullptr; }

    /// Once: comes back when it is done, and throws what it threw.
    void get() {
      const auto task = std::exchange(task_, nullptr);
      if (task->take()) {
        task->run();
      } else {
        task->wait();
      }
      task->rethrow();
    }

    /// As get(), but what has not begun never will.
    void take_back() {
      const auto task = std::exchange(task_, nullptr);
      if (task->take()) return;
      task->wait();
      task->rethrow();
    }

   private:
    friend class Companion;
    explicit Work(std::shared_ptr<Task> task) : task_(std::move(task)) {}

    void forget() {
      if (task_ != nullptr && !task_->take()) task_->wait();
    }

    std::shared_ptr<Task> task_;
  };

  Companion() = default;
  ~Companion() { give_no_more(); }
  Companion(const Companion&) = delete;
  Companion& operator=(const Companion&) = delete;

  template <typename Function>
  Work give(Function function) {
    auto task = std::make_shared<Task>(std::move(function));
    ++unfinished_;
    {
      const std::lock_guard lock(mutex_);
      tasks_.push_back(task);
    }
    if (thread_.joinable()) {
      changed_.notify_one();
    } else {
      start();
    }
    return Work(std::move(task));
  }

  /// Its thread ends when it has done what it was given.
  void give_no_more() {
    {
      const std::lock_guard lock(mutex_);
      is_over_ = true;
    }
    changed_.notify_one();
  }

  /// Whether it has done all that it was given.
  bool is_idle() const { return unfinished_ == 0; }

 private:
  void start() {
    try {
      thread_ = begin_beside([this] { run(); });
    } catch (const std::system_error&) {
      // Then nobody begins before the caller asks.
    }
  }

  void run() {
    while (const auto task = next()) {
      if (task->take()) task->run();
      --unfinished_;
    }
  }

  std::shared_ptr<Task> next() {
    stay_awake([&] { return unfinished_ != 0 || is_over_; });
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return begun_ < tasks_.size() || is_over_; });
    return begun_ < tasks_.size() ? std::exchange(tasks_[begun_++], nullptr) : nullptr;
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::shared_ptr<Task>> tasks_;
  std::size_t begun_ = 0;                    ///< of them
  std::atomic<std::size_t> unfinished_ = 0;  ///< of them
  std::atomic<bool> is_over_ = false;
  std::jthread thread_;  ///< last: it has use of the others
};

}  // namespace sframe_gen
