#include "emit/compact/shortest_path.hpp"

#include <algorithm>
#include <limits>
#include <span>

namespace sframe_gen::emit::compact {

namespace {

/// A path's length, and below it the cut before its last one, counted from the stretch's first. The smaller is the
/// better path: of those that are equally long, the one whose last block is longest.
std::uint64_t arrival(std::uint64_t length, std::uint32_t from) {
  return length << Stretch::longest_bits | from;
}
std::uint64_t length_of(std::uint64_t arrival) {
  return arrival >> Stretch::longest_bits;
}
constexpr std::uint64_t from_mask = (1U << Stretch::longest_bits) - 1;
std::uint32_t from_of(std::uint64_t arrival) {
  return static_cast<std::uint32_t>(arrival & from_mask);
}

/// Where blocks of default rows may begin whose row starts have one width. Their price is the sum of two numbers, one
/// that the begin has and one that the end has: so of the begins in reach, which come and go in order, only the
/// cheapest counts. Which that is no processor can guess, so nothing branches on it: of the begins before a border, the
/// cheapest from each one on is known, and of those behind it the cheapest of all. When the last one before the border
/// goes, all that are there go before it.
class Begins {
 public:
  Begins(unsigned width, const BlockSizes& sizes, const Stretch& stretch, std::vector<std::int64_t>& memory)
      : sizes_(sizes), width_(width), bytes_before_(sizes.plain_bytes_at_begin(stretch.begin, width)) {
    if (memory.size() < stretch.end - stretch.begin) memory.resize(stretch.end - stretch.begin);
    prices_ = memory.data();
  }

  /// `first`: in the stretch, of all that are there. `departure`: an arrival there, with the descriptor behind it.
  void add(std::uint32_t first, std::uint32_t cut, std::uint64_t departure) {
    const std::uint32_t bytes = sizes_.plain_bytes_at_begin(cut, width_) - bytes_before_;
    const auto price = static_cast<std::int64_t>(departure - bytes * arrivals_per_byte);
    prices_[first] = price;
    cheapest_behind_ = std::min(cheapest_behind_, price);
  }

  /// The best arrival by those from `first` on up to the one before `end`, of which there is one.
  std::uint64_t arrive(std::uint32_t first, std::uint32_t end_in_stretch, std::uint32_t end) {
    if (first >= border_) move_border(first, end_in_stretch);
    const std::uint32_t bytes = sizes_.plain_bytes_at_end(end, width_) - bytes_before_;
    return static_cast<std::uint64_t>(std::min(prices_[first], cheapest_behind_)) + bytes * arrivals_per_byte;
  }

 private:
  static constexpr std::uint64_t arrivals_per_byte = parts_per_byte << Stretch::longest_bits;

  void move_border(std::uint32_t first, std::uint32_t end) {
    for (std::uint32_t i = end - 1; i-- > first;) prices_[i] = std::min(prices_[i], prices_[i + 1]);
    border_ = end;
    cheapest_behind_ = std::numeric_limits<std::int64_t>::max();
  }

  const BlockSizes& sizes_;
  unsigned width_;
  std::uint32_t bytes_before_;
  std::uint32_t border_ = 0;
  std::int64_t cheapest_behind_ = std::numeric_limits<std::int64_t>::max();
  std::int64_t* prices_;  ///< by cut of the stretch; before the border, the lowest from there on
};

/// Where each block has a price of its own.
class Search {
 public:
  Search(const PathRules& rules, const Stretch& stretch, const BlockPrices& prices, PathMemory& memory)
      : rules_(rules),
        sizes_(rules.sizes),
        stretch_(stretch),
        prices_(prices),
        arrivals_(memory.arrivals.data()),
        narrow_(1, rules.sizes, stretch, memory.narrow),
        wide_(2, rules.sizes, stretch, memory.wide) {}

  void find() {
    for (std::uint32_t cut = stretch_.begin; cut < stretch_.end; ++cut) {
      leave(cut);
      arrive(cut + 1);
    }
  }

 private:
  /// Blocks that repeat, and begins of those that do not. A block that repeats costs no more than as one of these, so
  /// it does no harm that it is among them too, and one that costs as much need not be looked at.
  void leave(std::uint32_t begin) {
    const std::uint32_t from = begin - stretch_.begin;
    const std::uint64_t departure = (arrivals_[from] & ~from_mask) + arrival(rules_.descriptor_price, from);
    constexpr std::uint32_t ahead = 12;
    if (begin + ahead < stretch_.end) prices_.expect(rules_.blocks.longest_at(begin + ahead));
    BlockPrices::Offer own = prices_.offer(rules_.blocks.longest_at(begin));
    while (true) {
      offer(arrivals_[from + own.parts()], departure + (std::uint64_t{own.price()} << Stretch::longest_bits));
      if (own.next == RepeatedBlocks::none) break;
      own = prices_.offer(own.next);
    }
    narrow_.add(from, begin, departure);
    wide_.add(from, begin, departure);
  }

  /// Blocks that do not repeat.
  void arrive(std::uint32_t end) {
    const Reach& reach = rules_.reaches.up_to(end);
    const std::uint32_t end_in_stretch = end - stretch_.begin;
    std::uint64_t best = arrivals_[end_in_stretch];
    for (std::uint32_t from = reach.rows; from < reach.wide; ++from) {
      const std::uint64_t bytes = sizes_.shape(stretch_.begin + from, end).bytes;
      offer(best, arrival(length_of(arrivals_[from]) + rules_.descriptor_price + bytes * parts_per_byte, from));
    }
    if (reach.wide < end_in_stretch) offer(best, wide_.arrive(reach.wide, end_in_stretch, end));
    if (reach.narrow < end_in_stretch) offer(best, narrow_.arrive(reach.narrow, end_in_stretch, end));
    arrivals_[end_in_stretch] = best;
  }

  /// No branch: which of two blocks is cheaper is what no processor can guess.
  static void offer(std::uint64_t& best, std::uint64_t arrival) { best = std::min(best, arrival); }

  const PathRules& rules_;
  const BlockSizes& sizes_;
  Stretch stretch_;
  const BlockPrices& prices_;
  std::uint64_t* arrivals_;  ///< at each cut, by the shortest path from the stretch's first one
  Begins narrow_, wide_;
};

/// Where a block's price depends on how much of it repeats: each with each.
void find_with_heads(const PathRules& rules, const Stretch& stretch, const BlockPrices& prices, PathMemory& memory) {
  for (std::uint32_t begin = stretch.begin; begin < stretch.end; ++begin) {
    const auto arrivals = std::span(memory.arrivals).subspan(begin - stretch.begin);
    rules.blocks.list(begin, memory.found);
    std::uint64_t length = length_of(arrivals[0]) + rules.descriptor_price;
    std::uint32_t bytes_before = 0;
    for (std::uint32_t end = begin + 1; end <= stretch.end; ++end) {
      if (end > begin + 1 && rules.sizes.rows(begin, end) > rules.most_rows) break;
      const std::size_t parts = end - begin;
      const RepeatedBlocks::Id block = parts <= memory.found.size() ? memory.found[parts - 1] : RepeatedBlocks::none;
      const bool repeats = block != RepeatedBlocks::none;
      const std::uint32_t bytes = repeats ? rules.blocks.all()[block].bytes : rules.sizes.shape(begin, end).bytes;
      length += (bytes - bytes_before) * (repeats ? prices.share(block) : parts_per_byte);
      bytes_before = bytes;
      arrivals[parts] = std::min(arrivals[parts], arrival(length, begin - stretch.begin));
    }
  }
}

void name_repeated(const RepeatedBlocks& blocks, const Stretch& stretch, std::span<PathBlock> path) {
  for (std::size_t i = 0; i < path.size(); ++i) {
    constexpr std::size_t ahead = 8;
    if (i + ahead < path.size()) blocks.expect(path[i + ahead].begin);
    const std::uint32_t end = i + 1 < path.size() ? path[i + 1].begin : stretch.end;
    path[i].repeated = blocks.at(path[i].begin, end - path[i].begin);
  }
}

}  // namespace

std::uint64_t shortest_path(const PathRules& rules, const Stretch& stretch, const BlockPrices& prices,
                            std::vector<PathBlock>& path, PathMemory& memory) {
  memory.arrivals.assign(stretch.end - stretch.begin + 1, std::numeric_limits<std::uint64_t>::max());
  memory.arrivals[0] = 0;
  if (rules.shares_heads) {
    find_with_heads(rules, stretch, prices, memory);
  } else {
    Search(rules, stretch, prices, memory).find();
  }
  path.clear();
  for (std::uint32_t cut = stretch.end - stretch.begin; cut != 0;) {
    cut = from_of(memory.arrivals[cut]);
    path.push_back({stretch.begin + cut, RepeatedBlocks::none});
  }
  std::ranges::reverse(path);
  name_repeated(rules.blocks, stretch, path);
  return length_of(memory.arrivals.back());
}

}  // namespace sframe_gen::emit::compact
