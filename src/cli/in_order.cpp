#include "cli/in_order.hpp"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

namespace sframe_gen::cli {

namespace {

/// Results that wait for an earlier item take memory.
constexpr std::size_t most_ahead = 256;
constexpr std::chrono::milliseconds tick_time{100};

class Queue {
 public:
  Queue(std::span<const std::uint64_t> weights, std::uint64_t most_weight, const std::function<void(std::size_t)>& work)
      : weights_(weights), most_weight_(most_weight), work_(work), done_(weights.size()) {}

  /// Of each thread.
  void work() {
    std::unique_lock lock(mutex_);
    for (;;) {
      changed_.wait(lock, [&] { return next_ == weights_.size() || may_start(); });
      if (next_ == weights_.size()) return;
      const std::size_t item = next_++;
      weight_ += weights_[item];
      ++under_way_;
      lock.unlock();
      work_(item);
      lock.lock();
      weight_ -= weights_[item];
      --under_way_;
      done_[item] = true;
      changed_.notify_all();
    }
  }

  void wait_for(std::size_t item, const std::function<void()>& tick) {
    std::unique_lock lock(mutex_);
    while (!changed_.wait_for(lock, tick_time, [&] { return done_[item]; })) tick();
  }

  void finished() {
    const std::lock_guard lock(mutex_);
    ++finished_;
    changed_.notify_all();
  }

 private:
  bool may_start() const {
    if (next_ - finished_ >= most_ahead) return false;
    return under_way_ == 0 || weight_ + weights_[next_] <= most_weight_;
  }

  std::span<const std::uint64_t> weights_;
  std::uint64_t most_weight_;
  const std::function<void(std::size_t)>& work_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<bool> done_;
  std::size_t next_ = 0, finished_ = 0, under_way_ = 0;
  std::uint64_t weight_ = 0;  ///< of what is under way
};

/// As many as the system gives.
std::vector<std::jthread> start_threads(std::size_t count, Queue& queue) {
  std::vector<std::jthread> threads;
  try {
    while (threads.size() < count) threads.emplace_back([&queue] { queue.work(); });
  } catch (const std::system_error&) {
    if (threads.empty()) throw;
  }
  return threads;
}

void one_after_the_other(std::size_t count, const std::function<void(std::size_t)>& work,
                         const std::function<void(std::size_t)>& finish) {
  for (std::size_t i = 0; i < count; ++i) {
    work(i);
    finish(i);
  }
}

}  // namespace

void for_each_in_order(std::span<const std::uint64_t> weights, unsigned jobs, std::uint64_t most_weight,
                       const std::function<void(std::size_t)>& work, const std::function<void(std::size_t)>& finish,
                       const std::function<void()>& tick) {
  const std::size_t threads = std::min<std::size_t>(jobs, weights.size());
  if (threads <= 1) return one_after_the_other(weights.size(), work, finish);
  Queue queue(weights, most_weight, work);
  std::vector<std::jthread> running;
  try {
    running = start_threads(threads, queue);
  } catch (const std::system_error&) {
    return one_after_the_other(weights.size(), work, finish);
  }
  for (std::size_t i = 0; i < weights.size(); ++i) {
    queue.wait_for(i, tick);
    finish(i);
    queue.finished();
  }
}

}  // namespace sframe_gen::cli
