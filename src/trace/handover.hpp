#pragma once

#include <cstddef>
#include <functional>
#include <utility>
#include <vector>

#include "support/workers.hpp"

namespace sframe_gen::trace {

/// Items that the caller fills while a worker thread uses those before, in their order. Their memory is used again.
template <typename Item>
class Handover {
 public:
  explicit Handover(std::function<void(Item&)> use) : use_(std::move(use)) {}
  /// Uses all items that were added.
  ~Handover() {
    try {
      finish();
    } catch (...) {
      // Call finish() to learn of it.
    }
  }
  Handover(const Handover&) = delete;
  Handover& operator=(const Handover&) = delete;

  /// Adds an item that `fill` fills; it may hold what an earlier item did. Throws what `use` threw for an earlier item.
  template <typename Fill>
  void add(const Fill& fill) {
    if (filled_.items.size() == filled_.count) filled_.items.emplace_back();
    fill(filled_.items[filled_.count]);
    if (++filled_.count == at_once) hand_over();
  }

  /// Returns when all items are used. Throws as add() does. No item may be added afterwards.
  void finish() {
    wait();
    use_all_of(filled_);
  }

 private:
  static constexpr std::size_t at_once = 1024;
  struct Batch {
    std::vector<Item> items;
    std::size_t count = 0;
  };

  void hand_over() {
    wait();
    std::swap(filled_, used_);
    in_use_ = async([this] { use_all_of(used_); });
  }

  void wait() try {
    if (in_use_.valid()) in_use_.get();
  } catch (...) {
    filled_.count = 0;  // items after a failure are not used
    throw;
  }

  void use_all_of(Batch& batch) {
    const std::size_t count = std::exchange(batch.count, 0);
    for (std::size_t i = 0; i < count; ++i) use_(batch.items[i]);
  }

  std::function<void(Item&)> use_;
  Batch filled_, used_;
  Async in_use_;  ///< last: it uses the others
};

}  // namespace sframe_gen::trace
