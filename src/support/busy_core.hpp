#pragma once

#include <condition_variable>
#include <mutex>
#include <stop_token>
#include <utility>

namespace sframe_gen {

/// A core that long work in another thread has for itself, until it says that it is done.
class BusyCore {
 public:
  /// For the work, which may fail.
  class Work {
   public:
    explicit Work(BusyCore& core) : core_(core) {}
    ~Work() { core_.set_free(); }
    Work(const Work&) = delete;
    Work& operator=(const Work&) = delete;

   private:
    BusyCore& core_;
  };

  void set_free() {
    {
      const std::lock_guard lock(mutex_);
      is_free_ = true;
    }
    changed_.notify_all();
  }

  /// Comes back when the core is free, or nobody has need of it any more.
  void wait(std::stop_token no_need) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, std::move(no_need), [&] { return is_free_; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable_any changed_;
  bool is_free_ = false;
};

}  // namespace sframe_gen
