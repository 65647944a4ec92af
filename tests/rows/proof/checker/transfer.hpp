#pragma once

#include <functional>
#include <optional>

#include "rows/proof/checker/capstone.hpp"
#include "rows/proof/checker/listing.hpp"

namespace sframe_gen::checker {

/// Where a place that others count from is: between `least` and `most` bytes from the CFA.
struct Bounds {
  std::int64_t least = 0, most = 0;
};
using FindBounds = std::function<std::optional<Bounds>(std::uint32_t)>;

/// Where a memory operand is, if it is a place on the stack, or a constant; else Unknown.
Value address_of(const Capstone& instruction, const cs_x86_op& memory, const Facts& facts);

/// Whether all bytes from the place on are at least as high as another place, wherever both are.
bool is_at_or_above(const Place& place, const Place& other, const FindBounds& find_bounds);

/// What holds after an instruction that goes on to the next one (Intel SDM, volume 2), or that calls something which
/// comes back (AMD64 psABI, section 3.2.1). `lowered_before`: SP was lowered by so many bytes directly before.
class Transfer {
 public:
  Transfer(const Capstone& instruction, const FindBounds& find_bounds, std::int64_t lowered_before, Facts& facts)
      : instruction_(instruction), find_bounds_(find_bounds), lowered_before_(lowered_before), facts_(facts) {}

  void apply();
  /// Saved registers and return addresses that the instruction overwrites if it is ever executed: a store through
  /// another pointer than SP and FP is believed not to reach them. It is on a path that no execution takes.
  std::size_t slots_believed_missed() const { return believed_missed_; }
  void call();
  /// The part of a call before the jump.
  void push_next();

 private:
  void move();
  void load_address();
  void add(int sign);
  void mask();
  void push();
  void pop();
  void leave();
  void others();
  void set(const cs_x86_op& operand, const Value& value);
  void store(const cs_x86_op& memory, const Value& value);
  void store(const Place& place, std::int64_t size, const Value& value, bool is_believed_to_miss = false);
  void drop_below_stack_pointer();
  void move_stack_pointer(const Value& value);
  Value load(const Value& address) const;
  Value value_of(const cs_x86_op& operand) const;

  const Capstone& instruction_;
  const FindBounds& find_bounds_;
  std::int64_t lowered_before_;
  Facts& facts_;
  std::size_t believed_missed_ = 0;
};

}  // namespace sframe_gen::checker
