#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "emit/compact/sequence.hpp"
#include "support/hash.hpp"

namespace sframe_gen::emit::compact {

/// What the rows from each cut to the next one are, as 32 bits: equal for equal rules at equal distances, whatever
/// stands before. A block is equal to another if the parts are that it consists of. It is hashes that are equal: two
/// blocks that are not would be priced wrongly, for rows that are not written are compared one by one. How many rows
/// there are stands beside the hash, so that no block has more than it may.
class PartHashes {
 public:
  /// None.
  PartHashes() = default;
  /// Of no stretch yet. One thread may add one, by an Adder, while another adds another.
  explicit PartHashes(const Sequence& sequence);
  class Adder;

  /// The part behind a cut, behind others. That at a stretch's first cut, and that behind the last cut, are behind
  /// none.
  std::uint32_t behind_others(std::uint32_t cut) const { return parts_[cut]; }
  static constexpr std::uint32_t behind_none = 0;
  static constexpr std::uint32_t rows_of(std::uint32_t part) { return part & (most_rows_of_part - 1); }

  /// The shortest block of two or more rows that begins at a cut, or Root::none: those of a single row are few.
  struct Root {
    std::uint32_t value;
    static constexpr std::uint32_t none = 0;

    static constexpr unsigned parts_bits = 2;
    std::uint32_t rows() const { return value & (most_rows_of_root - 1); }
    std::uint32_t parts() const { return value / most_rows_of_root & ((1U << parts_bits) - 1); }
  };
  Root root(std::uint32_t cut) const { return {roots_[cut]}; }
  /// Blocks of two or more rows that begin at cuts of different groups are different.
  static constexpr unsigned group_bits = 8;
  std::uint8_t group(std::uint32_t cut) const { return groups_[cut]; }

  /// Parts that begin with a single row, and have that row to themselves: 0 where there are more rows behind the cut.
  std::uint32_t parts_of_single_row(std::uint32_t cut) const {
    const std::uint32_t parts = root(cut).parts();
    return parts != 0 ? parts - 1 : parts_[cut + 1] == without_rows ? 2 : 1;
  }

 private:
  static constexpr std::uint32_t most_rows_of_part = 16, most_rows_of_root = 32;
  static_assert(most_rows_without_cut < most_rows_of_part);
  /// A function that says nothing new.
  static constexpr std::uint32_t without_rows = most_rows_of_part;

  std::unique_ptr<std::uint32_t[]> parts_;  ///< by cut, and one behind the last
  std::unique_ptr<std::uint32_t[]> roots_;  ///< by cut
  std::unique_ptr<std::uint8_t[]> groups_;  ///< by cut that has a root
};

/// Of one stretch, part by part.
class PartHashes::Adder {
 public:
  /// `most_rows`: of a block.
  Adder(PartHashes& hashes, const Sequence& sequence, const Stretch& stretch, std::uint32_t most_rows)
      : sequence_(sequence),
        parts_(hashes.parts_.get()),
        roots_(hashes.roots_.get()),
        groups_(hashes.groups_.get()),
        stretch_begin_(stretch.begin),
        waiting_(stretch.begin),
        most_rows_(most_rows) {
    const Run& run = sequence.runs[stretch.run];
    seed_ = mixed((run.signal_frame ? 2U : 0U) + (run.b_key ? 1U : 0U));
  }

  /// Of a part's rows, in the order of the rows, all but the first.
  struct Behind {
    std::uint64_t sum = 0, power = 1;

    void add(const Row& before, const Row& row) {
      sum = sum * factor + hash_of(row.offset - before.offset, row.rule);
      power *= factor;
    }
  };
  /// The part behind the cut has the rows from `begin` up to `end`; at the cut there is one that repeats, or the first.
  void add(std::uint32_t cut, const Row& at_cut, const Row* begin, const Row* end, const Behind& behind);
  /// A function that says nothing new.
  void add_without_rows(std::uint32_t cut) {
    roots_[cut] = Root::none;
    parts_[cut] = without_rows;
  }
  /// The last one has been added.
  void end() { parts_[stretch_begin_] = behind_none; }

 private:
  static constexpr std::uint64_t factor = 0x9e3779b97f4a7c15U;

  /// A row's share of a sum over rows, each times a power of an odd number for those behind it, modulo 2^64.
  static std::uint64_t hash_of(std::uint32_t distance, RuleId rule) {
    const std::uint64_t spread = (std::uint64_t{distance} << 32U | rule) * 0xff51afd7ed558ccdU;
    return spread ^ spread >> 32U;
  }
  void set_root(std::uint32_t cut, std::uint64_t hash, std::size_t rows, std::uint32_t parts);

  const Sequence& sequence_;
  std::uint32_t* parts_;
  std::uint32_t* roots_;
  std::uint8_t* groups_;
  std::uint64_t seed_;
  std::uint32_t stretch_begin_;
  std::uint32_t waiting_;  ///< cuts from there on have had no second row yet
  std::uint32_t most_rows_;
  std::uint32_t offset_before_ = 0;
};

}  // namespace sframe_gen::emit::compact
