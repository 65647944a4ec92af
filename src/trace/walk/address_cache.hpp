#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace sframe_gen::trace::walk {

/// The answers for the last addresses: a sample has most of its frames in common with the one before. It becomes larger
/// as more is asked: there may be a hundred thousand files, most of which are asked once.
template <typename Answer>
class AddressCache {
 public:
  /// Valid until the next call. `look_up` is called for an address that is not remembered.
  template <typename LookUp>
  const Answer& get(std::uint64_t address, const LookUp& look_up) {
    Slot* slot = slots_.empty() ? nullptr : &slot_of(address);
    if (slot != nullptr && slot->is_known && slot->address == address) return slot->answer;
    Answer answer = look_up(address);
    if (++missed_ > slots_.size() && slots_.size() < most) grow();
    slot = &slot_of(address);
    *slot = {address, true, std::move(answer)};
    return slot->answer;
  }

 private:
  struct Slot {
    std::uint64_t address = 0;
    bool is_known = false;
    Answer answer{};
  };

  static constexpr std::size_t fewest = 1, times = 8, most = 4096;

  Slot& slot_of(std::uint64_t address) { return slots_[(address ^ address >> 12U) % slots_.size()]; }
  void grow() {
    std::vector<Slot> before = std::move(slots_);
    slots_ = std::vector<Slot>(before.empty() ? fewest : before.size() * times);
    for (Slot& slot : before)
      if (slot.is_known) slot_of(slot.address) = std::move(slot);
    missed_ = 0;
  }

  std::vector<Slot> slots_;
  std::size_t missed_ = 0;  ///< since it became larger
};

}  // namespace sframe_gen::trace::walk
