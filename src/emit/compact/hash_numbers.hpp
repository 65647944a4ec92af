#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace sframe_gen::emit::compact {

/// Hash → number, for hashes that are mixed well: a block's is looked for in one place of memory, millions of times.
class HashNumbers {
 public:
  explicit HashNumbers(std::size_t expected) {
    std::size_t slots = 1024;
    while (slots < expected * 2) slots *= 2;
    slots_.resize(slots);
  }

  /// The number of the first entry with this hash for which `is_it(number)`; `next`, which is then its number, if there
  /// is none.
  template <typename Predicate>
  std::uint32_t find_or_add(std::uint64_t hash, std::uint32_t next, Predicate&& is_it) {
    if (used_ * 2 >= slots_.size()) grow();
    std::size_t i = hash & (slots_.size() - 1);
    for (; slots_[i].number != unused; i = (i + 1) & (slots_.size() - 1))
      if (slots_[i].hash == hash && is_it(slots_[i].number)) return slots_[i].number;
    slots_[i] = {hash, next};
    ++used_;
    return next;
  }

 private:
  static constexpr std::uint32_t unused = UINT32_MAX;
  struct Slot {
    std::uint64_t hash = 0;
    std::uint32_t number = unused;
  };

  void grow() {
    std::vector<Slot> old(slots_.size() * 2);
    old.swap(slots_);
    for (const Slot& slot : old) {
      if (slot.number == unused) continue;
      std::size_t i = slot.hash & (slots_.size() - 1);
      while (slots_[i].number != unused) i = (i + 1) & (slots_.size() - 1);
      slots_[i] = slot;
    }
  }

  std::vector<Slot> slots_;
  std::size_t used_ = 0;
};

}  // namespace sframe_gen::emit::compact
