#include "emit/compact/planner.hpp"

#include <algorithm>
#include <atomic>
#include <future>
#include <limits>
#include <span>
#include <thread>

#include "emit/compact/repeated_blocks.hpp"
#include "emit/compact/shortest_path.hpp"
#include "support/background.hpp"

namespace sframe_gen::emit::compact {

namespace {

std::size_t threads_for(std::size_t cuts) {
  constexpr std::size_t cuts_per_thread = 32768, most_threads = 8;
  const std::size_t cores = std::max(1U, std::thread::hardware_concurrency());
  return std::clamp<std::size_t>(cuts / cuts_per_thread, 1, std::min(cores, most_threads));
}

/// Long runs are divided, at places that depend on nothing but the run, so that several threads have work.
std::vector<Stretch> stretches_of(const Sequence& sequence) {
  constexpr std::uint32_t longest = 1U << Stretch::longest_bits;
  std::vector<Stretch> stretches;
  for (std::size_t run = 0; run < sequence.runs.size(); ++run) {
    const std::uint32_t end = sequence.end_of_cuts(run);
    for (std::uint32_t begin = sequence.runs[run].first_cut; begin < end; begin += longest)
      stretches.push_back({begin, std::min(end, begin + std::min(longest, end - begin))});
  }
  return stretches;
}

class Planner {
 public:
  Planner(const Sequence& sequence, const BlockSizes& sizes, const Dialect& dialect)
      : sequence_(sequence),
        dialect_(dialect),
        sizes_(sizes),
        // Without an attribute in front, a block may be the beginning of another.
        shares_heads_(dialect.shares_rows && !dialect.version->splits_descriptor),
        blocks_(dialect.shares_rows ? RepeatedBlocks(sequence, sizes, dialect.compact_rows) : RepeatedBlocks()),
        block_bytes_(bytes_of_blocks()),
        stretches_(stretches_of(sequence)),
        from_(sequence.cuts.size() + 1),
        rules_{sizes,
               blocks_,
               block_bytes_,
               dialect.compact_rows,
               dialect.version->descriptor_size * parts_per_byte,
               shares_heads_},
        memories_(threads_for(sequence.cuts.size())) {}

  Plan plan() {
    Plan best;
    BlockPrices prices{std::vector<std::uint32_t>(blocks_.size()), std::vector<std::uint32_t>(blocks_.size())};
    const auto price_all = [&](auto&& share_of_block) {
      for (RepeatedBlocks::Id id = 0; id < blocks_.size(); ++id) {
        prices.shares[id] = share_of_block(id);
        prices.prices[id] = prices.shares[id] * block_bytes_[id];
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
    best.repeated = static_cast<std::uint32_t>(blocks_.size());
    return best;
  }

 private:
  static std::uint32_t share_of(std::uint32_t users, bool last) {
    const bool free = last && users >= 2;
    return free ? 0 : static_cast<std::uint32_t>(parts_per_byte / (last ? 1 : std::max(users, 1U)));
  }

  std::vector<std::uint32_t> bytes_of_blocks() const {
    std::vector<std::uint32_t> bytes(blocks_.size());
    for (std::uint32_t cut = 0; cut < sequence_.cuts.size(); ++cut) {
      for (std::uint32_t end = cut; const RepeatedBlocks::Id block : blocks_.at(cut)) {
        ++end;
        if (bytes[block] == 0) bytes[block] = sizes_.shape(cut, end).bytes;
      }
    }
    return bytes;
  }

  /// Fills from_, and returns the length in parts of a byte.
  std::uint64_t walk(const BlockPrices& prices) {
    std::atomic<std::size_t> next = 0;
    const auto work = [&](PathMemory& memory) {
      std::uint64_t all = 0;
      for (std::size_t i = next++; i < stretches_.size(); i = next++)
        all += shortest_path(rules_, stretches_[i], prices, from_, memory);
      return all;
    };
    std::vector<std::future<std::uint64_t>> others;
    for (std::size_t i = 1; i < memories_.size(); ++i)
      others.push_back(in_background([&work, memory = &memories_[i]] { return work(*memory); }));
    std::uint64_t all = work(memories_.front());
    for (auto& other : others) all += other.get();
    return all;
  }

  std::vector<std::uint32_t> starts() const {
    std::vector<std::uint32_t> starts;
    for (std::size_t i = stretches_.size(); i-- > 0;) {
      for (std::uint32_t cut = stretches_[i].end; cut != stretches_[i].begin;) {
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
    std::vector<std::uint32_t> repeats(starts.size(), Plan::once);
    const std::uint64_t bytes = count_bytes(starts, users, repeats);
    if (bytes < least) {
      least = bytes;
      best.starts = std::move(starts);
      best.repeats = std::move(repeats);
    }
    return users;
  }

  std::uint64_t count_bytes(const std::vector<std::uint32_t>& starts, std::vector<std::uint32_t>& users,
                            std::vector<std::uint32_t>& repeats) const {
    std::uint64_t bytes = starts.size() * dialect_.version->descriptor_size;
    for (std::size_t i = 0; i < starts.size(); ++i) {
      const std::uint32_t end =
          i + 1 < starts.size() ? starts[i + 1] : static_cast<std::uint32_t>(sequence_.cuts.size());
      const std::span<const RepeatedBlocks::Id> found = blocks_.at(starts[i]);
      const std::size_t parts = end - starts[i];
      if (parts > found.size()) {
        bytes += sizes_.shape(starts[i], end).bytes;
      } else {
        const RepeatedBlocks::Id block = repeats[i] = found[parts - 1];
        if (users[block]++ == 0) bytes += block_bytes_[block];
      }
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
  std::vector<std::uint32_t> block_bytes_;
  std::vector<Stretch> stretches_;
  std::vector<std::uint32_t> from_;  ///< by cut: the one before it on the shortest path
  PathRules rules_;
  std::vector<PathMemory> memories_;  ///< one a thread
};

}  // namespace

Plan make_plan(const Sequence& sequence, const BlockSizes& sizes, const Dialect& dialect) {
  return Planner(sequence, sizes, dialect).plan();
}

}  // namespace sframe_gen::emit::compact
