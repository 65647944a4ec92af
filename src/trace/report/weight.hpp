#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

namespace sframe_gen::trace::report {

/// What some samples amount to.
struct Weight {
  std::uint64_t samples = 0;
  std::uint64_t periods = 0;  ///< their sum, or the highest number

  void add(std::uint64_t period) {
    constexpr std::uint64_t highest = std::numeric_limits<std::uint64_t>::max();
    ++samples;
    periods = period > highest - periods ? highest : periods + period;
  }
};

/// What all samples of an event amount to. Where their periods are the same, their number tells as much, and is what
/// people expect.
class TotalWeight {
 public:
  void add(std::uint64_t period) {
    weight_.add(period);
    least_ = std::min(least_, period);
    most_ = std::max(most_, period);
  }
  std::uint64_t samples() const { return weight_.samples; }
  std::uint64_t periods() const { return weight_.periods; }
  bool has_same_periods() const { return least_ >= most_; }
  /// Of `part` of the samples, in what widths and values are measured.
  std::uint64_t size_of(const Weight& part) const { return has_same_periods() ? part.samples : part.periods; }

 private:
  Weight weight_;
  std::uint64_t least_ = std::numeric_limits<std::uint64_t>::max(), most_ = 0;
};

}  // namespace sframe_gen::trace::report
