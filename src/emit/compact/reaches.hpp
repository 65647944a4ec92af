#pragma once

#include <cstdint>
#include <memory>

#include "emit/compact/block_sizes.hpp"
#include "emit/compact/sequence.hpp"

namespace sframe_gen::emit::compact {

/// From which cut on blocks may begin that end at another: counted from the stretch's first. What a path takes changes
/// nothing of that, so it is found out once for all of them.
struct Reach {
  std::uint16_t rows;    ///< what is before it has too many rows
  std::uint16_t wide;    ///< from there on default rows can say it, with starts of two bytes
  std::uint16_t narrow;  ///< with starts of one byte
};
static_assert(Stretch::longest_bits < 16);

class Reaches {
 public:
  /// None.
  Reaches() = default;
  /// Of no stretch yet. One thread may add one while another adds another.
  explicit Reaches(const Sequence& sequence);
  void add(const Stretch& stretch, const BlockSizes& sizes, std::uint32_t most_rows);

  /// Of blocks that end at that cut, which may be that behind a stretch's last; of each stretch, all but its first.
  const Reach& up_to(std::uint32_t end) const { return reaches_[end]; }

 private:
  std::unique_ptr<Reach[]> reaches_;
};

}  // namespace sframe_gen::emit::compact
