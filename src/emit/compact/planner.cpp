#include "emit/compact/planner.hpp"

#include <algorithm>
#include <limits>
#include <span>

#include "emit/compact/repeated_blocks.hpp"

namespace sframe_gen::emit::compact {

namespace {

/// Prices are in parts of a byte, so that a block's price can be divided.
constexpr std::uint64_t parts_per_byte = 4096;

/// For each repeated block, the parts of a byte that one of its users pays for each byte of it.
using Shares = std::vector<std::uint32_t>;

class Planner {
 public:
  Planner(const Sequence& sequence, const BlockSizes& sizes, const Dialect& dialect)
      : sequence_(sequence),
        dialect_(dialect),
        sizes_(sizes),
        // Without an attribute in front, a block may be the beginning of another.
        shares_heads_(!dialect.version->splits_descriptor),
        blocks_(dialect.shares_rows ? RepeatedBlocks(sequence, dialect.compact_rows) : RepeatedBlocks()) {}

  Plan plan() {
    Plan best;
    Shares shares(blocks_.size());
    for (RepeatedBlocks::Id id = 0; id < shares.size(); ++id)
      shares[id] = static_cast<std::uint32_t>(parts_per_byte / blocks_.occurrences(id));
    best.least_bytes = shortest_path(shares) / parts_per_byte;
    if (blocks_.size() == 0) {
      best.starts = starts();
      return best;
    }
    std::uint64_t least = std::numeric_limits<std::uint64_t>::max();
    for (const bool last : {false, true}) {
      const std::vector<std::uint32_t> users = keep_if_better(least, best);
      for (RepeatedBlocks::Id id = 0; id < shares.size(); ++id) shares[id] = share_of(users[id], last);
      shortest_path(shares);
    }
    keep_if_better(least, best);
    return best;
  }

 private:
  static std::uint32_t share_of(std::uint32_t users, bool last) {
    const bool free = last && users >= 2;
    return free ? 0 : static_cast<std::uint32_t>(parts_per_byte / (last ? 1 : std::max(users, 1U)));
  }

  /// Fills from_, and returns the length in parts of a byte.
  std::uint64_t shortest_path(const Shares& shares) {
    from_.assign(sequence_.cuts.size() + 1, 0);
    length_.resize(sequence_.cuts.size() + 1);
    std::uint64_t all = 0;
    for (std::size_t run = 0; run < sequence_.runs.size(); ++run) {
      const std::uint32_t begin = sequence_.runs[run].first_cut, end = sequence_.end_of_cuts(run);
      std::fill(length_.begin() + begin + 1, length_.begin() + end + 1, std::numeric_limits<std::uint64_t>::max());
      length_[begin] = all;
      for (std::uint32_t cut = begin; cut < end; ++cut) relax_from(cut, end, shares);
      all = length_[end];
    }
    return all;
  }

  void relax_from(std::uint32_t cut, std::uint32_t run_end, const Shares& shares) {
    const std::span<const RepeatedBlocks::Id> found = blocks_.at(cut);
    const std::uint64_t base = length_[cut] + dialect_.version->descriptor_size * parts_per_byte;
    std::uint64_t head_price = 0;
    std::uint32_t head_bytes = 0;
    for (std::uint32_t end = cut + 1; end <= run_end; ++end) {
      if (end > cut + 1 && sizes_.rows(cut, end) > dialect_.compact_rows) break;
      const BlockShape shape = sizes_.shape(cut, end);
      const std::size_t parts = end - cut;
      const std::uint64_t share = parts <= found.size() ? shares[found[parts - 1]] : parts_per_byte;
      const std::uint64_t price = shares_heads_ ? head_price + (shape.bytes - head_bytes) * share : shape.bytes * share;
      head_price = price;
      head_bytes = shape.bytes;
      if (base + price >= length_[end]) continue;
      length_[end] = base + price;
      from_[end] = cut;
    }
  }

  std::vector<std::uint32_t> starts() const {
    std::vector<std::uint32_t> starts;
    for (std::size_t run = sequence_.runs.size(); run-- > 0;) {
      const std::uint32_t begin = sequence_.runs[run].first_cut;
      for (std::uint32_t cut = sequence_.end_of_cuts(run); cut != begin;) {
        cut = from_[cut];
        starts.push_back(cut);
      }
    }
    std::ranges::reverse(starts);
    return starts;
  }

  /// What the last path takes if each block is stored once; returns each block's users.
  std::vector<std::uint32_t> keep_if_better(std::uint64_t& least, Plan& best) const {
    std::vector<std::uint32_t> starts = this->starts();
    std::vector<std::uint32_t> users(blocks_.size());
    const std::uint64_t bytes = count_bytes(starts, users);
    if (bytes < least) {
      least = bytes;
      best.starts = std::move(starts);
    }
    return users;
  }

  std::uint64_t count_bytes(const std::vector<std::uint32_t>& starts, std::vector<std::uint32_t>& users) const {
    std::uint64_t bytes = starts.size() * dialect_.version->descriptor_size;
    for (std::size_t i = 0; i < starts.size(); ++i) {
      const std::uint32_t end =
          i + 1 < starts.size() ? starts[i + 1] : static_cast<std::uint32_t>(sequence_.cuts.size());
      const std::span<const RepeatedBlocks::Id> found = blocks_.at(starts[i]);
      const std::size_t parts = end - starts[i];
      const bool is_new = parts > found.size() || users[found[parts - 1]] == 0;
      if (is_new) bytes += sizes_.shape(starts[i], end).bytes;
      if (parts <= found.size()) ++users[found[parts - 1]];
      if (!shares_heads_) continue;
      for (std::size_t head = 0; head + 1 < std::min(parts, found.size() + 1); ++head) ++users[found[head]];
    }
    return bytes;
  }

  const Sequence& sequence_;
  const Dialect& dialect_;
  const BlockSizes& sizes_;
  bool shares_heads_;
  RepeatedBlocks blocks_;
  std::vector<std::uint64_t> length_;  ///< of the shortest path up to a cut
  std::vector<std::uint32_t> from_;    ///< the cut before the last descriptor of that path
};

}  // namespace

Plan make_plan(const Sequence& sequence, const BlockSizes& sizes, const Dialect& dialect) {
  return Planner(sequence, sizes, dialect).plan();
}

}  // namespace sframe_gen::emit::compact
