#pragma once

#include <future>
#include <memory>
#include <system_error>
#include <thread>
#include <utility>

#include "support/begin_beside.hpp"

namespace sframe_gen {

/// Work in a thread of its own, or, where the system gives no more threads, when its result is asked for. Its end waits
/// for the thread's.
template <typename T>
class Background {
 public:
  Background() = default;
  template <typename Work>
  explicit Background(Work work) {
    const auto task = std::make_shared<std::packaged_task<T()>>(std::move(work));
    result_ = task->get_future();
    try {
      thread_ = begin_beside([task] { (*task)(); });
    } catch (const std::system_error&) {
      deferred_ = task;
    }
  }

  bool valid() const { return result_.valid(); }
  /// Once. Throws what the work threw.
  T get() {
    if (deferred_) (*deferred_)();
    return result_.get();
  }

 private:
  std::future<T> result_;
  std::shared_ptr<std::packaged_task<T()>> deferred_;
  std::jthread thread_;  ///< last: the work has use of nothing here, but its end comes first
};

template <typename Work>
auto in_background(Work work) {
  return Background<decltype(work())>(std::move(work));
}

}  // namespace sframe_gen
