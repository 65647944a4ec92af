#pragma once

#include <condition_variable>
#include <cstddef>
#include <exception>
#include <functional>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace sframe_gen {

/// Items that one thread fills while another uses those before, in their order. Their room is used again.
template <typename Item>
class Handover {
 public:
  using Use = std::function<void(Item&)>;

  explicit Handover(Use use) : use_(std::move(use)), portions_(portions) {}
  /// All that was added is used by then.
  ~Handover() {
    try {
      finish();
    } catch (...) {
      // Whoever wants to know calls finish().
    }
  }
  Handover(const Handover&) = delete;
  Handover& operator=(const Handover&) = delete;

  /// Gets an item used that `fill` has filled; it may hold what an earlier one did. Throws what `use` threw of any item
  /// before.
  template <typename Fill>
  void add(const Fill& fill) {
    Portion& portion = portion_to_fill();
    if (portion.items.size() == portion.count) portion.items.emplace_back();
    fill(portion.items[portion.count]);
    if (++portion.count != at_once) return;
    if (user_.joinable() || start()) {
      hand_over();
    } else {
      use_all_of(portion);
    }
  }

  /// Comes back when all are used. Throws as add() does. Nothing is added behind it.
  void finish() {
    if (std::exchange(is_finished_, true)) return;
    // Few items are not worth a thread.
    if (!user_.joinable()) return use_all_of(portion_to_fill());
    {
      const std::lock_guard lock(mutex_);
      ++filled_;
      is_over_ = true;
    }
    changed_.notify_all();
    user_.join();
    if (failure_) std::rethrow_exception(failure_);
  }

 private:
  static constexpr std::size_t portions = 8, at_once = 256;
  struct Portion {
    std::vector<Item> items;
    std::size_t count = 0;
  };

  Portion& portion_to_fill() { return portions_[filled_ % portions]; }

  void hand_over() {
    std::unique_lock lock(mutex_);
    ++filled_;
    changed_.notify_all();
    changed_.wait(lock, [&] { return failure_ || filled_ - used_ < portions; });
    if (failure_) std::rethrow_exception(failure_);
  }

  void use_all_of(Portion& portion) {
    const std::size_t count = std::exchange(portion.count, 0);
    for (std::size_t i = 0; i < count; ++i) use_(portion.items[i]);
  }

  /// False: the system gives no more threads.
  bool start() {
    try {
      user_ = std::thread([this] { use_portions(); });
    } catch (const std::system_error&) {
      return false;
    }
    return true;
  }

  void use_portions() {
    std::unique_lock lock(mutex_);
    for (;;) {
      changed_.wait(lock, [&] { return used_ < filled_ || is_over_; });
      if (used_ == filled_) return;
      Portion& portion = portions_[used_ % portions];
      lock.unlock();
      std::exception_ptr failure;
      try {
        use_all_of(portion);
      } catch (...) {
        failure = std::current_exception();
      }
      lock.lock();
      ++used_;
      changed_.notify_all();
      if (!failure) continue;
      failure_ = failure;
      return;
    }
  }

  Use use_;
  std::vector<Portion> portions_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::size_t filled_ = 0, used_ = 0;  ///< portions
  bool is_over_ = false;               ///< no more are filled
  std::exception_ptr failure_;         ///< ends the use
  bool is_finished_ = false;
  std::thread user_;
};

}  // namespace sframe_gen
