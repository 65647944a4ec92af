#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "cfi/frame_row.hpp"
#include "support/hashed_numbers.hpp"

namespace sframe_gen::cfi {

/// Stands for rules of one NumberedRules.
enum class RuleNumber : std::uint32_t {};

/// Numbers rules, equal ones alike: a file's millions of rows say a few hundred different things, and a number is
/// compared, copied and looked up in a fraction of the time.
class NumberedRules {
 public:
  RuleNumber number_of(const Rules& rules);
  /// Valid until the next rules get a number.
  const Rules& operator[](RuleNumber number) const { return rules_[static_cast<std::size_t>(number)]; }
  std::size_t size() const { return rules_.size(); }

  /// No compiler makes so many. Whoever wants to be bounded in memory calls this where no number is in use.
  void forget_if_many();
  void forget();
  /// Another value: earlier numbers mean nothing any more.
  std::uint32_t generation() const { return generation_; }

 private:
  std::vector<Rules> rules_;
  HashedNumbers numbers_;
  std::uint32_t generation_ = 0;
};

}  // namespace sframe_gen::cfi
