#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace sframe_gen::emit::compact {

/// Hash → number, for hashes that are mixed well and numbers that count up from 0. What looks for a few hundred
/// thousand of them waits for memory more than for anything else: so a slot takes 8 bytes, of which 32 are bits of the
/// hash that tell it from others of the same slot.
class HashNumbers {
 public:
  explicit HashNumbers(std::size_t expected) {
    std::size_t slots = 1024;
    while (slots < expected * 2) slots *= 2;
    slots_.resize(slots);
  }

  /// The number of the first entry with this hash for which `is_it(number)`; a new one, which is size(), if there is
  /// none.
  template <typename Predicate>
  std::uint32_t find_or_add(std::uint64_t hash, Predicate&& is_it) {
    if (hashes_.size() * 2 >= slots_.size()) grow();
    std::size_t i = slot_of(hash);
    for (; slots_[i].number != unused; i = (i + 1) & (slots_.size() - 1))
      if (slots_[i].tag == tag_of(hash) && is_it(slots_[i].number)) return slots_[i].number;
    const auto number = static_cast<std::uint32_t>(hashes_.size());
    slots_[i] = {tag_of(hash), number};
    hashes_.push_back(hash);
    return number;
  }

  /// Forgets all; the memory stays.
  void clear() {
    slots_.assign(slots_.size(), {});
    hashes_.clear();
  }
  std::size_t size() const { return hashes_.size(); }

 private:
  static constexpr std::uint32_t unused = UINT32_MAX;
  struct Slot {
    std::uint32_t tag = 0;
    std::uint32_t number = unused;
  };

  static std::uint32_t tag_of(std::uint64_t hash) { return static_cast<std::uint32_t>(hash >> 32U); }
  std::size_t slot_of(std::uint64_t hash) const { return hash & (slots_.size() - 1); }

  void grow() {
    slots_.assign(slots_.size() * 2, {});
    for (std::uint32_t number = 0; number < hashes_.size(); ++number) {
      std::size_t i = slot_of(hashes_[number]);
      while (slots_[i].number != unused) i = (i + 1) & (slots_.size() - 1);
      slots_[i] = {tag_of(hashes_[number]), number};
    }
  }

  std::vector<Slot> slots_;
  std::vector<std::uint64_t> hashes_;  ///< by number
};

}  // namespace sframe_gen::emit::compact
