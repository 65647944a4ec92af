#include "emit/compact/planner.hpp"

#include <algorithm>
#include <atomic>
#include <future>
#include <limits>
#include <span>
#include <thread>

#include "emit/compact/repeated_blocks.hpp"
#include "support/background.hpp"

namespace sframe_gen::emit::compact {

namespace {

/// Prices are in parts of a byte, so that a block's price can be divided.
constexpr std::uint64_t parts_per_byte = 4096;

/// For each repeated block, the parts of a byte that one of its users pays for each byte of it.
using Shares = std::vector<std::uint32_t>;

std::size_t threads_for(std::size_t cuts) {
  constexpr std::size_t cuts_per_thread = 32768, most_threads = 8;
  const std::size_t cores = std::max(1U, std::thread::hardware_concurrency());
  return std::clamp<std::size_t>(cuts / cuts_per_thread, 1, std::min(cores, most_threads));
}

class Planner {
 public:
  Planner(const Sequence& sequence, const BlockSizes& sizes, const Dialect& dialect)
      : sequence_(sequence),
        dialect_(dialect),
        sizes_(sizes),
        // Without an attribute in front, a block may be the beginning of another.
        shares_heads_(!dialect.version->splits_descriptor),
        blocks_(dialect.shares_rows ? RepeatedBlocks(sequence, dialect.compact_rows) : RepeatedBlocks()),
        stretches_(stretches_of(sequence)),
        threads_(threads_for(sequence.cuts.size())) {}

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

  /// A run, or a part of a long one: a descriptor begins at its first cut.
  struct Stretch {
    std::uint32_t begin, end;
  };

  /// Long runs are divided, at places that depend on nothing but the run, so that several threads have work.
  static std::vector<Stretch> stretches_of(const Sequence& sequence) {
    constexpr std::uint32_t longest = 16384;
    std::vector<Stretch> stretches;
    for (std::size_t run = 0; run < sequence.runs.size(); ++run) {
      const std::uint32_t end = sequence.end_of_cuts(run);
      for (std::uint32_t begin = sequence.runs[run].first_cut; begin < end; begin += longest)
        stretches.push_back({begin, end - begin > longest ? begin + longest : end});
    }
    return stretches;
  }

  /// Fills from_, and returns the length in parts of a byte.
  std::uint64_t shortest_path(const Shares& shares) {
    from_.assign(sequence_.cuts.size() + 1, 0);
    std::atomic<std::size_t> next = 0;
    const auto work = [&] {
      std::uint64_t all = 0;
      Lengths lengths;
      for (std::size_t i = next++; i < stretches_.size(); i = next++)
        all += shortest_path(stretches_[i], shares, lengths);
      return all;
    };
    std::vector<std::future<std::uint64_t>> others;
    for (std::size_t i = 1; i < threads_; ++i) others.push_back(in_background(work));
    std::uint64_t all = work();
    for (auto& other : others) all += other.get();
    return all;
  }

  /// Of the shortest path from the stretch's first cut up to each.
  using Lengths = std::vector<std::uint64_t>;

  std::uint64_t shortest_path(const Stretch& stretch, const Shares& shares, Lengths& lengths) {
    lengths.assign(stretch.end - stretch.begin + 1, std::numeric_limits<std::uint64_t>::max());
    lengths[0] = 0;
    for (std::uint32_t cut = stretch.begin; cut < stretch.end; ++cut)
      relax_from(cut, stretch, shares, std::span(lengths).subspan(cut - stretch.begin));
    return lengths.back();
  }

  /// `lengths`: of the paths to `cut` and to those behind it.
  void relax_from(std::uint32_t cut, const Stretch& stretch, const Shares& shares, std::span<std::uint64_t> lengths) {
    const std::span<const RepeatedBlocks::Id> found = blocks_.at(cut);
    const std::uint64_t base = lengths[0] + dialect_.version->descriptor_size * parts_per_byte;
    std::uint64_t head_price = 0;
    std::uint32_t head_bytes = 0;
    for (std::uint32_t end = cut + 1; end <= stretch.end; ++end) {
      if (end > cut + 1 && sizes_.rows(cut, end) > dialect_.compact_rows) break;
      const BlockShape shape = sizes_.shape(cut, end);
      const std::size_t parts = end - cut;
      const std::uint64_t share = parts <= found.size() ? shares[found[parts - 1]] : parts_per_byte;
      const std::uint64_t price = shares_heads_ ? head_price + (shape.bytes - head_bytes) * share : shape.bytes * share;
      head_price = price;
      head_bytes = shape.bytes;
      if (base + price >= lengths[parts]) continue;
      lengths[parts] = base + price;
      from_[end] = cut;
    }
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
  std::vector<Stretch> stretches_;
  std::size_t threads_;
  std::vector<std::uint32_t> from_;  ///< by cut: the one before it on the shortest path
};

}  // namespace

Plan make_plan(const Sequence& sequence, const BlockSizes& sizes, const Dialect& dialect) {
  return Planner(sequence, sizes, dialect).plan();
}

}  // namespace sframe_gen::emit::compact
