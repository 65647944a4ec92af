#pragma once

#include <cstdint>
#include <vector>

namespace sframe_gen::trace::dwarf {

/// Addresses that have an owner: a unit, or a call.
struct OwnedRange {
  std::uint64_t begin = 0, end = 0;
  std::uint32_t owner = 0;
};

/// Which owner has an address, if ranges overlap the one with the highest number.
class FlatRanges {
 public:
  static constexpr std::uint32_t none = ~std::uint32_t{0};

  FlatRanges() = default;
  explicit FlatRanges(std::vector<OwnedRange> ranges);

  /// `none`: no range has the address.
  std::uint32_t owner_at(std::uint64_t address) const;

 private:
  struct Part {
    std::uint64_t begin;
    std::uint32_t owner;
  };
  std::vector<Part> parts_;  ///< ascending; each up to where the next begins
};

}  // namespace sframe_gen::trace::dwarf
