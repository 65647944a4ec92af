#pragma once

#include <cstdint>
#include <vector>

namespace sframe_gen::elf {

/// `bytes` bytes put in front of what stood at file offset `at`.
struct Insertion {
  std::uint64_t at;
  std::uint64_t bytes;
  friend bool operator==(const Insertion&, const Insertion&) = default;
};

/// Where a byte of the input file lies in the output: a shift that grows at each insertion.
///
///     input   aaaa|bbbbbbb|cc          insertions at | of 4 and 2 bytes
///     output  aaaa....bbbbbbb..cc
class OffsetMap {
 public:
  void insert(Insertion insertion);
  std::uint64_t operator()(std::uint64_t offset) const;
  /// Sorted by `at`.
  const std::vector<Insertion>& insertions() const { return insertions_; }

 private:
  std::vector<Insertion> insertions_;
};

}  // namespace sframe_gen::elf
