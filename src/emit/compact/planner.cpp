#include "emit/compact/planner.hpp"

#include <algorithm>
#include <functional>
#include <limits>
#include <numeric>
#include <span>
#include <utility>

#include "emit/compact/repeated_blocks.hpp"
#include "emit/compact/shortest_path.hpp"
#include "support/workers.hpp"

namespace sframe_gen::emit::compact {

namespace {

/// What a path takes if each block is stored once.
struct Use {
  std::uint64_t bytes = 0;
  std::vector<std::uint32_t> users;  ///< by repeated block
};

class Planner {
 public:
  Planner(const Sequence& sequence, const CutFacts& facts, const Dialect& dialect)
      : dialect_(dialect),
        sizes_(facts.sizes),
        shares_heads_(facts.shares_heads),
        stretches_(facts.stretches),
        blocks_(dialect.shares_rows ? RepeatedBlocks(sequence, facts, dialect.compact_rows) : RepeatedBlocks()),
        memories_(workers_for(sequence.cuts.size(), cuts_per_worker)),
        paths_(stretches_.size()),
        rules_{sizes_,
               blocks_,
               facts.reaches,
               dialect.compact_rows,
               dialect.version->descriptor_size * parts_per_byte,
               shares_heads_},
        uses_(memories_.size()) {}

  Plan plan() {
    Plan best;
    BlockPrices prices(blocks_);
    prices.set([&](RepeatedBlocks::Id id) { return share_of(blocks_.all()[id].occurrences, false); });
    best.least_bytes = walk(prices) / parts_per_byte;
    std::uint64_t least = std::numeric_limits<std::uint64_t>::max();
    if (!blocks_.empty()) {
      for (const bool last : {false, true}) {
        const std::vector<std::uint32_t> users = keep_if_better(least, best);
        prices.set([&](RepeatedBlocks::Id id) { return share_of(users[id], last); });
        walk(prices);
      }
    }
    keep_if_better(least, best);
    best.repeated = blocks_.all().size();
    return best;
  }

 private:
  static constexpr std::size_t cuts_per_worker = 512;

  static std::uint32_t share_of(std::uint32_t users, bool last) {
    constexpr std::uint32_t whole{parts_per_byte};  // a division of 64 bits takes twice as long
    if (last) return users >= 2 ? 0 : whole;
    // Others may join who has it alone: with this in place of the whole, large files take 0.03 to 0.05% less.
    if (users == 1) return whole / 4 * 3;
    return whole / std::max(users, 1U);
  }

  /// Fills paths_ and uses_, and returns the length in parts of a byte.
  std::uint64_t walk(const BlockPrices& prices) {
    std::vector<std::uint64_t> lengths(stretches_.size());
    for (Use& use : uses_) {
      use.bytes = 0;
      use.users.assign(blocks_.all().size(), 0);
    }
    parallel_for(stretches_.size(), memories_.size(), [&](std::size_t i, std::size_t worker) {
      lengths[i] = shortest_path(rules_, stretches_[i], prices, paths_[i], memories_[worker]);
      if (!shares_heads_) add_use(paths_[i], stretches_[i].end, uses_[worker]);
    });
    return std::accumulate(lengths.begin(), lengths.end(), std::uint64_t{0});
  }

  /// Returns each block's users on the last path.
  std::vector<std::uint32_t> keep_if_better(std::uint64_t& least, Plan& best) const {
    Use use = shares_heads_ ? use_with_heads() : use_of_all();
    if (use.bytes < least) {
      least = use.bytes;
      best.bytes = use.bytes;
      best.blocks.clear();
      for (const std::vector<PathBlock>& path : paths_) best.blocks.insert(best.blocks.end(), path.begin(), path.end());
    }
    return std::move(use.users);
  }

  Use use_of_all() const {
    Use all = uses_.front();
    for (const Use& use : std::span(uses_).subspan(1)) {
      all.bytes += use.bytes;
      std::ranges::transform(all.users, use.users, all.users.begin(), std::plus());
    }
    for (RepeatedBlocks::Id block = 0; block < blocks_.all().size(); ++block)
      all.bytes += all.users[block] == 0 ? 0 : blocks_.all()[block].bytes;
    return all;
  }

  /// But for what repeated blocks take.
  void add_use(std::span<const PathBlock> path, std::uint32_t end_of_stretch, Use& use) const {
    use.bytes += path.size() * dialect_.version->descriptor_size;
    for (std::size_t i = 0; i < path.size(); ++i) {
      const std::uint32_t end = i + 1 < path.size() ? path[i + 1].begin : end_of_stretch;
      ++use.users[path[i].repeated];
      if (path[i].repeated == RepeatedBlocks::none) use.bytes += sizes_.shape(path[i].begin, end).bytes;
    }
  }

  /// A block that was the beginning of another before it was used by itself takes nothing more.
  Use use_with_heads() const {
    Use use{0, std::vector<std::uint32_t>(blocks_.all().size())};
    for (std::size_t stretch = 0; stretch < stretches_.size(); ++stretch) {
      const std::vector<PathBlock>& path = paths_[stretch];
      use.bytes += path.size() * dialect_.version->descriptor_size;
      for (std::size_t i = 0; i < path.size(); ++i) {
        const std::uint32_t end = i + 1 < path.size() ? path[i + 1].begin : stretches_[stretch].end;
        const std::uint32_t parts = end - path[i].begin;
        if (path[i].repeated == RepeatedBlocks::none) use.bytes += sizes_.shape(path[i].begin, end).bytes;
        for (RepeatedBlocks::Id id = blocks_.longest_at(path[i].begin); id != RepeatedBlocks::none;) {
          const RepeatedBlock& block = blocks_.all()[id];
          if (block.parts == parts && use.users[id] == 0) use.bytes += block.bytes;
          if (block.parts <= parts) ++use.users[id];
          id = block.head;
        }
      }
    }
    return use;
  }

  const Dialect& dialect_;
  const BlockSizes& sizes_;
  bool shares_heads_;
  const std::vector<Stretch>& stretches_;
  RepeatedBlocks blocks_;
  std::vector<PathMemory> memories_;           ///< one a thread
  std::vector<std::vector<PathBlock>> paths_;  ///< by stretch: the last ones
  PathRules rules_;
  std::vector<Use> uses_;  ///< one a thread: of the last paths
};

}  // namespace

Plan make_plan(const Sequence& sequence, const CutFacts& facts, const Dialect& dialect) {
  return Planner(sequence, facts, dialect).plan();
}

}  // namespace sframe_gen::emit::compact
