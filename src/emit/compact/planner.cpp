#include "emit/compact/planner.hpp"

#include <algorithm>
#include <functional>
#include <limits>
#include <numeric>
#include <span>
#include <utility>

#include "emit/compact/repeated_blocks.hpp"
#include "emit/compact/shortest_path.hpp"
#include "support/in_parallel.hpp"

namespace sframe_gen::emit::compact {

namespace {

/// What a path takes if each block is stored once.
struct Use {
  std::uint64_t bytes = 0;
  std::vector<std::uint32_t> users;  ///< by repeated block
};

class Planner {
 public:
  Planner(const Sequence& sequence, const RowHashes& hashes, const BlockSizes& sizes, const Dialect& dialect)
      : sequence_(sequence),
        dialect_(dialect),
        sizes_(sizes),
        // Without an attribute in front, a block may be the beginning of another.
        shares_heads_(dialect.shares_rows && !dialect.version->splits_descriptor),
        blocks_(dialect.shares_rows ? RepeatedBlocks(sequence, hashes, sizes, dialect.compact_rows) : RepeatedBlocks()),
        stretches_(stretches_of(sequence)),
        memories_(workers_for(sequence.cuts.size(), cuts_per_worker)),
        reaches_(shares_heads_ ? Reaches() : Reaches(stretches_, sizes, dialect.compact_rows, memories_.size())),
        starts_(stretches_.size()),
        rules_{sizes,
               blocks_,
               reaches_,
               blocks_.bytes(),
               dialect.compact_rows,
               dialect.version->descriptor_size * parts_per_byte,
               shares_heads_},
        uses_(memories_.size()) {}

  Plan plan() {
    Plan best;
    BlockPrices prices{std::vector<std::uint32_t>(blocks_.size()), std::vector<std::uint32_t>(blocks_.size())};
    const auto price_all = [&](auto&& share_of_block) {
      for (RepeatedBlocks::Id id = 0; id < blocks_.size(); ++id) {
        prices.shares[id] = share_of_block(id);
        prices.prices[id] = prices.shares[id] * blocks_.bytes()[id];
      }
    };
    price_all([&](RepeatedBlocks::Id id) { return share_of(blocks_.occurrences(id), false); });
    best.least_bytes = walk(prices) / parts_per_byte;
    std::uint64_t least = std::numeric_limits<std::uint64_t>::max();
    if (blocks_.size() != 0) {
      for (const bool last : {false, true}) {
        const std::vector<std::uint32_t> users = keep_if_better(least, best);
        price_all([&](RepeatedBlocks::Id id) { return share_of(users[id], last); });
        walk(prices);
      }
    }
    keep_if_better(least, best);
    name_repeats(best);
    return best;
  }

 private:
  static constexpr std::size_t cuts_per_worker = 16384;

  static std::uint32_t share_of(std::uint32_t users, bool last) {
    constexpr std::uint32_t whole{parts_per_byte};  // a division of 64 bits takes twice as long
    if (last) return users >= 2 ? 0 : whole;
    return whole / std::max(users, 1U);
  }

  /// Fills starts_ and uses_, and returns the length in parts of a byte.
  std::uint64_t walk(const BlockPrices& prices) {
    std::vector<std::uint64_t> lengths(stretches_.size());
    for (Use& use : uses_) {
      use.bytes = 0;
      use.users.assign(blocks_.size(), 0);
    }
    for_each_in_parallel(stretches_.size(), memories_.size(), [&](std::size_t i, std::size_t worker) {
      lengths[i] = shortest_path(rules_, stretches_[i], prices, starts_[i], memories_[worker]);
      if (!shares_heads_) add_use(starts_[i], stretches_[i].end, uses_[worker]);
    });
    return std::accumulate(lengths.begin(), lengths.end(), std::uint64_t{0});
  }

  /// Returns each block's users on the last path.
  std::vector<std::uint32_t> keep_if_better(std::uint64_t& least, Plan& best) const {
    Use use = shares_heads_ ? use_with_heads() : use_of_all();
    if (use.bytes < least) {
      least = use.bytes;
      best.bytes = use.bytes;
      best.starts.clear();
      for (const std::vector<std::uint32_t>& starts : starts_)
        best.starts.insert(best.starts.end(), starts.begin(), starts.end());
    }
    return std::move(use.users);
  }

  Use use_of_all() const {
    Use all = uses_.front();
    for (const Use& use : std::span(uses_).subspan(1)) {
      all.bytes += use.bytes;
      std::ranges::transform(all.users, use.users, all.users.begin(), std::plus());
    }
    for (RepeatedBlocks::Id block = 0; block < blocks_.size(); ++block)
      all.bytes += all.users[block] == 0 ? 0 : blocks_.bytes()[block];
    return all;
  }

  /// But for what repeated blocks take.
  void add_use(std::span<const std::uint32_t> starts, std::uint32_t end_of_stretch, Use& use) const {
    use.bytes += starts.size() * dialect_.version->descriptor_size;
    for (std::size_t i = 0; i < starts.size(); ++i) {
      const std::uint32_t end = i + 1 < starts.size() ? starts[i + 1] : end_of_stretch;
      const std::span<const RepeatedBlocks::Id> found = blocks_.at(starts[i]);
      const std::size_t parts = end - starts[i];
      if (parts > found.size()) {
        use.bytes += sizes_.shape(starts[i], end).bytes;
      } else {
        ++use.users[found[parts - 1]];
      }
    }
  }

  /// A block that was the beginning of another before it was used by itself takes nothing more.
  Use use_with_heads() const {
    Use use{0, std::vector<std::uint32_t>(blocks_.size())};
    for (std::size_t stretch = 0; stretch < stretches_.size(); ++stretch) {
      const std::vector<std::uint32_t>& starts = starts_[stretch];
      use.bytes += starts.size() * dialect_.version->descriptor_size;
      for (std::size_t i = 0; i < starts.size(); ++i) {
        const std::uint32_t end = i + 1 < starts.size() ? starts[i + 1] : stretches_[stretch].end;
        const std::span<const RepeatedBlocks::Id> found = blocks_.at(starts[i]);
        const std::size_t parts = end - starts[i];
        if (parts > found.size()) {
          use.bytes += sizes_.shape(starts[i], end).bytes;
        } else if (use.users[found[parts - 1]]++ == 0) {
          use.bytes += blocks_.bytes()[found[parts - 1]];
        }
        for (std::size_t head = 0; head + 1 < std::min(parts, found.size() + 1); ++head) ++use.users[found[head]];
      }
    }
    return use;
  }

  void name_repeats(Plan& plan) const {
    const auto cut_count = static_cast<std::uint32_t>(sequence_.cuts.size());
    plan.repeats.resize(plan.starts.size(), Plan::once);
    for (std::size_t i = 0; i < plan.starts.size(); ++i) {
      const std::uint32_t end = i + 1 < plan.starts.size() ? plan.starts[i + 1] : cut_count;
      const std::span<const RepeatedBlocks::Id> found = blocks_.at(plan.starts[i]);
      const std::size_t parts = end - plan.starts[i];
      if (parts <= found.size()) plan.repeats[i] = found[parts - 1];
    }
    plan.repeated = static_cast<std::uint32_t>(blocks_.size());
  }

  const Sequence& sequence_;
  const Dialect& dialect_;
  const BlockSizes& sizes_;
  bool shares_heads_;
  RepeatedBlocks blocks_;
  std::vector<Stretch> stretches_;
  std::vector<PathMemory> memories_;  ///< one a thread
  Reaches reaches_;
  std::vector<std::vector<std::uint32_t>> starts_;  ///< by stretch: of the last path
  PathRules rules_;
  std::vector<Use> uses_;  ///< one a thread: of the last path
};

}  // namespace

Plan make_plan(const Sequence& sequence, const RowHashes& hashes, const BlockSizes& sizes, const Dialect& dialect) {
  return Planner(sequence, hashes, sizes, dialect).plan();
}

}  // namespace sframe_gen::emit::compact
