#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "emit/compact/cut_facts.hpp"
#include "emit/compact/sequence.hpp"

namespace sframe_gen::emit::compact {

/// A block that occurs more than once.
struct RepeatedBlock {
  std::uint32_t head = 0;         ///< the block without its last part, which repeats too, or RepeatedBlocks::none
  std::uint32_t parts = 0;        ///< from one cut to the next
  std::uint32_t occurrences = 0;  ///< places where it, or one that begins with it, stands
  std::uint32_t bytes = 0;        ///< that each takes
};

/// Which blocks of rows, from one cut to another, occur more than once: same rules at the same distances from the
/// block's start, and cuts at the same rows. A block can repeat only if the block without its last part does, so they
/// are a forest, and those that begin at a cut are the way from one of them up. Time is linear in the cuts and in the
/// number of places of what repeats.
class RepeatedBlocks {
 public:
  using Id = std::uint32_t;
  static constexpr Id none = 0;  ///< has a number, so that whoever looks it up need not ask

  /// None.
  RepeatedBlocks() = default;
  RepeatedBlocks(const Sequence& sequence, const CutFacts& facts, std::uint32_t most_rows);

  /// The longest that begins at the cut and occurs elsewhere too.
  Id longest_at(std::uint32_t cut) const { return longest_ == nullptr ? none : longest_[cut]; }
  /// Whether there is one.
  bool empty() const { return blocks_.size() == 1; }
  /// That of so many parts.
  Id at(std::uint32_t cut, std::uint32_t parts) const;
  /// All that begin at the cut: up to the next one, to the one behind it, and so on.
  void list(std::uint32_t cut, std::vector<Id>& found) const;

  /// At that cut it will be asked soon for those there.
  void expect(std::uint32_t cut) const { __builtin_prefetch(&blocks_[longest_at(cut)]); }

  /// By number; a block's head has a lower one.
  const std::vector<RepeatedBlock>& all() const { return blocks_; }

 private:
  void add_single_rows(const Sequence& sequence, const CutFacts& facts, std::size_t workers);

  std::unique_ptr<Id[]> longest_;  ///< by cut
  std::vector<RepeatedBlock> blocks_{1};
};

}  // namespace sframe_gen::emit::compact
