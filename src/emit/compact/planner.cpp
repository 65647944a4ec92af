#include "emit/compact/planner.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

#include "support/workers.hpp"

namespace sframe_gen::emit::compact {

namespace {

/// A way from the first cut to another one.
struct Way {
  std::int64_t length = std::numeric_limits<std::int64_t>::max();
  std::uint32_t begin = 0;  ///< cut where the last block begins
};

/// Of two ways that are equally long, either will do, but one must be chosen by their begins: another choice gives
/// other bytes.
void offer(Way& shortest, const Way& other) {
  const auto low_byte = [](std::uint32_t cut) { return static_cast<std::uint8_t>(cut); };
  if (other.length < shortest.length ||
      (other.length == shortest.length && low_byte(other.begin) < low_byte(shortest.begin)))
    shortest = other;
}

/// The shortest of the ways in a window whose two ends only move forward: a two-stack sliding minimum. Each way of the
/// front stack is replaced by the shortest from there to its bottom, the border. Of the back stack, after the border,
/// only the shortest of all is known. When the window leaves the front stack, the back one becomes it: so each way is
/// looked at twice.
class Window {
 public:
  explicit Window(std::size_t size) : ways_(size) {}

  void add(const Way& way) {
    ways_[end_++] = way;
    offer(after_border_, way);
  }

  /// Returns the shortest of the ways from number `first` on.
  Way shortest(std::uint32_t first) {
    if (first >= border_) {
      for (std::uint32_t i = end_ - 1; i > first; --i) offer(ways_[i - 1], ways_[i]);
      border_ = end_;
      after_border_ = {};
    }
    Way shortest = ways_[first];
    offer(shortest, after_border_);
    return shortest;
  }

 private:
  std::vector<Way> ways_;
  std::uint32_t end_ = 0, border_ = 0;
  Way after_border_;
};

class Search {
 public:
  Search(const Run& run, const Prices& prices)
      : cuts_(run.cuts), repeated_blocks_(run.repeated_blocks), prices_(prices), arrivals_(cuts_.size()) {
    arrivals_.front() = {0, 0};
  }

  /// Each block has a price of its own. The bytes of default rows with starts of one width are the difference of two
  /// sums, one up to the block's end and one up to its begin: of the begins in reach, the one with the least difference
  /// is the best for every end.
  void find() {
    Window narrow(cuts_.size()), wide(cuts_.size());
    for (std::uint32_t end = 1; end < cuts_.size(); ++end) {
      // Prices are the only memory that is read in no order.
      __builtin_prefetch(&prices_.repeated[repeated_blocks_[std::min<std::size_t>(end + 8, cuts_.size() - 1)]]);
      leave_by_repeated(end - 1);
      narrow.add({price_at(end - 1, 1), end - 1});
      wide.add({price_at(end - 1, 2), end - 1});
      const Cut& cut = cuts_[end];
      for (std::uint32_t begin = end - cut.reach; begin < end - cut.wide_reach; ++begin)
        offer(arrivals_[end], {departure(begin) + price_of(begin, end), begin});
      if (cut.wide_reach > cut.narrow_reach) arrive(end, wide.shortest(end - cut.wide_reach), 2);
      if (cut.narrow_reach != 0) arrive(end, narrow.shortest(end - cut.narrow_reach), 1);
    }
  }

  /// A block's price depends on how much of it repeats: looks at each.
  void find_with_heads() {
    for (std::uint32_t begin = 0; begin + 1 < cuts_.size(); ++begin) {
      leave_by_repeated(begin);
      const Prices::Repeated& longest = prices_.repeated[repeated_blocks_[begin]];
      const std::int64_t saved = price_of(begin, begin + longest.cuts) - longest.price;
      for (std::uint32_t end = begin + longest.cuts + 1; end < cuts_.size(); ++end) {
        if (end != begin + 1 && rows_between(cuts_[begin], cuts_[end]) > prices_.most_rows) break;
        offer(arrivals_[end], {departure(begin) + price_of(begin, end) - saved, begin});
      }
    }
  }

  /// Returns the length.
  std::uint64_t take(Path& path) const {
    path.clear();
    for (auto end = static_cast<std::uint32_t>(cuts_.size() - 1); end != 0; end = path.back().begin) {
      const std::uint32_t begin = arrivals_[end].begin;
      path.push_back({begin, repeated_block(begin, end)});
    }
    std::ranges::reverse(path);
    return static_cast<std::uint64_t>(arrivals_.back().length);
  }

 private:
  std::int64_t departure(std::uint32_t begin) const { return arrivals_[begin].length + prices_.descriptor; }

  /// What is paid up to a block that begins at the cut, but for what price_up_to() counts again.
  std::int64_t price_at(std::uint32_t begin, std::uint32_t width) const {
    const Cut& cut = cuts_[begin];
    const std::int64_t repeated = cut.repeated_plain + (cut.repeats ? width : 0);
    return departure(begin) + (prices_.attribute_bytes + repeated) * parts_per_byte - price_up_to(cut, width);
  }

  /// Returns the price of the default rows before `cut`, with starts of `width` bytes.
  static std::int64_t price_up_to(const Cut& cut, std::uint32_t width) {
    return (std::int64_t{cut.plain_bytes} + std::int64_t{cut.rows_before} * width) * parts_per_byte;
  }

  void arrive(std::uint32_t end, const Way& shortest, std::uint32_t width) {
    offer(arrivals_[end], {shortest.length + price_up_to(cuts_[end], width), shortest.begin});
  }

  void leave_by_repeated(std::uint32_t begin) {
    const Prices::Repeated* block = &prices_.repeated[repeated_blocks_[begin]];
    for (; block->cuts != 0; block = &prices_.repeated[block->head])
      offer(arrivals_[begin + block->cuts], {departure(begin) + block->price, begin});
  }

  /// Returns the price of a block that does not repeat.
  std::int64_t price_of(std::uint32_t begin, std::uint32_t end) const {
    if (begin == end) return 0;
    return std::int64_t{prices_.attribute_bytes + shape_of(cuts_[begin], cuts_[end]).bytes} * parts_per_byte;
  }

  std::uint32_t repeated_block(std::uint32_t begin, std::uint32_t end) const {
    std::uint32_t block = repeated_blocks_[begin];
    while (prices_.blocks[block].cuts > end - begin) block = prices_.blocks[block].head;
    return prices_.blocks[block].cuts == end - begin ? block : no_block;
  }

  const std::vector<Cut>& cuts_;
  const std::vector<std::uint32_t>& repeated_blocks_;
  const Prices& prices_;
  std::vector<Way> arrivals_;  ///< by cut
};

/// What the paths of all runs take if each block is stored once.
struct Use {
  std::uint64_t bytes = 0;
  std::vector<std::uint32_t> users;  ///< by repeated block
};

class Planner {
 public:
  Planner(std::span<const Run> runs, std::vector<RepeatedBlock> blocks, const Dialect& dialect)
      : runs_(runs),
        blocks_(std::move(blocks)),
        prices_{std::int64_t{dialect.version->descriptor_size} * parts_per_byte,
                attribute_size(dialect),
                dialect.compact_rows,
                dialect.shares_rows && !dialect.version->splits_descriptor,
                blocks_,
                std::vector<Prices::Repeated>(blocks_.size())},
        descriptor_size_(dialect.version->descriptor_size) {}

  std::vector<Path> plan() {
    prices_.set_shares([&](std::uint32_t block) { return share_of(blocks_[block].places); });
    std::vector<Path> cheapest(runs_.size());
    walk(cheapest);
    if (blocks_.size() == 1) return cheapest;

    Use last = use_of(cheapest);
    std::uint64_t least_bytes = last.bytes;
    for (const auto share : {share_of, last_share_of}) {
      prices_.set_shares([&](std::uint32_t block) { return share(last.users[block]); });
      std::vector<Path> paths(runs_.size());
      walk(paths);
      last = use_of(paths);
      if (last.bytes >= least_bytes) continue;
      least_bytes = last.bytes;
      cheapest = std::move(paths);
    }
    return cheapest;
  }

 private:
  /// A user's part of the price of a byte.
  static std::uint32_t share_of(std::uint32_t users) {
    // A single user leaves something to others that may join: with the whole price, large files take 0.03 to 0.05 %
    // more.
    return users == 1 ? parts_per_byte / 4 * 3 : parts_per_byte / std::max(users, 1U);
  }
  static std::uint32_t last_share_of(std::uint32_t users) { return users >= 2 ? 0 : parts_per_byte; }

  /// Returns the sum of the lengths.
  std::uint64_t walk(std::vector<Path>& paths) const {
    std::vector<std::uint64_t> lengths(runs_.size());
    for_each_run(runs_.size(), [&](std::size_t i) { lengths[i] = shortest_path(runs_[i], prices_, paths[i]); });
    return std::accumulate(lengths.begin(), lengths.end(), std::uint64_t{0});
  }

  Use use_of(const std::vector<Path>& paths) const {
    Use use{0, std::vector<std::uint32_t>(blocks_.size())};
    for (std::size_t run = 0; run < runs_.size(); ++run) {
      for (std::size_t i = 0; i < paths[run].size(); ++i) {
        const std::vector<Cut>& cuts = runs_[run].cuts;
        const auto [begin, repeated] = paths[run][i];
        const std::size_t end = i + 1 < paths[run].size() ? paths[run][i + 1].begin : cuts.size() - 1;
        use.bytes += descriptor_size_;
        if (repeated == no_block) {
          use.bytes += prices_.attribute_bytes + shape_of(cuts[begin], cuts[end]).bytes;
        } else if (use.users[repeated] == 0) {
          use.bytes += blocks_[repeated].bytes;
        }
        if (prices_.heads_are_shared) {
          const std::uint32_t longest = repeated == no_block ? runs_[run].repeated_blocks[begin] : repeated;
          for (std::uint32_t block = longest; block != no_block; block = blocks_[block].head) ++use.users[block];
        } else {
          ++use.users[repeated];
        }
      }
    }
    return use;
  }

  std::span<const Run> runs_;
  std::vector<RepeatedBlock> blocks_;
  Prices prices_;
  std::uint64_t descriptor_size_;
};

}  // namespace

void Prices::set_share(std::uint32_t number, std::uint32_t share) {
  const RepeatedBlock& block = blocks[number];
  Repeated& own = repeated[number];
  own = repeated[block.head];
  if (heads_are_shared) {
    own = {own.price + (block.bytes - blocks[block.head].bytes) * share, block.cuts, block.head};
  } else if (share < parts_per_byte) {
    own = {block.bytes * share, block.cuts, block.head};
  }
}

std::uint64_t shortest_path(const Run& run, const Prices& prices, Path& path) {
  Search search(run, prices);
  if (prices.heads_are_shared) {
    search.find_with_heads();
  } else {
    search.find();
  }
  return search.take(path);
}

std::vector<Path> make_plan(std::span<Run> runs, const Dialect& dialect) {
  std::vector<RepeatedBlock> blocks =
      dialect.shares_rows ? find_repeated_blocks(runs, dialect) : std::vector<RepeatedBlock>(1);
  return Planner(runs, std::move(blocks), dialect).plan();
}

}  // namespace sframe_gen::emit::compact
