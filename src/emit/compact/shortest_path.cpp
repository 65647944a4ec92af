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

/// Of so many bytes, in parts of an arrival; negative ones too.
std::int64_t price_of(std::int32_t bytes) {
  return bytes * static_cast<std::int64_t>(parts_per_byte << Stretch::longest_bits);
}

/// Where blocks of default rows may begin whose row starts have one width. Their price is the sum of two numbers, one
/// that the begin has and one that the end has: so of the begins in reach, which come and go in order, only the
/// cheapest counts. Which that is no processor can guess, so nothing branches on it: of the begins before a border, the
/// cheapest from each one on is known, and of those behind it the cheapest of all. When the last one before the border
/// goes, all that are there go before it.
template <std::int64_t PathPlace::*Price>
class Begins {
 public:
  explicit Begins(PathPlace* places) : places_(places) {}

  void add(PathPlace& place, std::int64_t price) {
    place.*Price = price;
    cheapest_behind_ = std::min(cheapest_behind_, price);
  }

  /// Of those from `first` on up to `last`, the one that was added last.
  std::int64_t cheapest(std::uint32_t first, std::uint32_t last) {
    if (first >= border_) [[unlikely]]
      move_border(first, last);
    return std::min(places_[first].*Price, cheapest_behind_);
  }

 private:
  void move_border(std::uint32_t first, std::uint32_t last) {
    std::int64_t lowest = places_[last].*Price;
    for (PathPlace* place = &places_[last]; place != &places_[first];) {
      --place;
      lowest = std::min(lowest, place->*Price);
      place->*Price = lowest;
    }
    border_ = last + 1;
    cheapest_behind_ = none;
  }

  static constexpr std::int64_t none = std::numeric_limits<std::int64_t>::max();
  PathPlace* places_;  ///< before the border, with the lowest price from there on
  std::uint32_t border_ = 0;
  std::int64_t cheapest_behind_ = none;
};

/// Where each block has a price of its own.
class Search {
 public:
  Search(const PathRules& rules, const Stretch& stretch, const BlockPrices& prices, PathMemory& memory)
      : rules_(rules),
        stretch_(stretch),
        prices_(prices),
        places_(memory.places.data()),
        narrow_(places_),
        wide_(places_) {}

  void find() {
    const std::uint32_t cuts = stretch_.end - stretch_.begin;
    const std::uint64_t descriptor = arrival(rules_.descriptor_price, 0);
    std::uint64_t best = 0;
    for (std::uint32_t cut = 0; cut < cuts; ++cut) {
      places_[cut].arrival = best;
      leave(cut, (best & ~from_mask) + (descriptor + cut));
      best = arrive(cut + 1);
    }
    places_[cuts].arrival = best;
  }

 private:
  /// Blocks that repeat, and begins of those that do not. A block that repeats costs no more than as one of these, so
  /// it does no harm that it is among them too, and one that costs as much need not be looked at.
  void leave(std::uint32_t from, std::uint64_t departure) {
    const std::uint32_t begin = stretch_.begin + from;
    PathPlace* const place = &places_[from];
    constexpr std::uint32_t ahead = 12;
    prices_.expect(rules_.blocks.longest_at(std::min(begin + ahead, stretch_.end - 1)));
    prices_.expect(prices_.offer(rules_.blocks.longest_at(std::min(begin + 6, stretch_.end - 1))).next);
    BlockPrices::Offer own = prices_.offer(rules_.blocks.longest_at(begin));
    // How many there are no processor can guess. RepeatedBlocks::none leads nowhere at some price, which changes
    // nothing: so two are looked at without a question.
    take(own, place, departure);
    own = prices_.offer(own.next);
    while (true) {
      take(own, place, departure);
      if (own.next == RepeatedBlocks::none) break;
      own = prices_.offer(own.next);
    }
    const BlockSizes::PlainBytes bytes = rules_.sizes.plain_bytes_at_begin(begin);
    narrow_.add(*place, static_cast<std::int64_t>(departure) - price_of(bytes.narrow));
    wide_.add(*place, static_cast<std::int64_t>(departure) - price_of(bytes.wide));
  }

  static void take(const BlockPrices::Offer& own, PathPlace* place, std::uint64_t departure) {
    offer(place[own.parts()].arrival, departure + (std::uint64_t{own.price()} << Stretch::longest_bits));
  }

  /// The best of these, and of blocks that do not repeat.
  std::uint64_t arrive(std::uint32_t end_in_stretch) {
    const std::uint32_t end = stretch_.begin + end_in_stretch;
    const Reach& reach = rules_.reaches.up_to(end);
    const BlockSizes::PlainBytes bytes = rules_.sizes.plain_bytes_at_end(end);
    std::uint64_t best = places_[end_in_stretch].arrival;
    if (reach.rows < reach.wide) [[unlikely]]
      best = std::min(best, arrive_flexible(reach, end_in_stretch));
    if (reach.wide < end_in_stretch) {
      const std::int64_t cheapest = wide_.cheapest(reach.wide, end_in_stretch - 1);
      offer(best, static_cast<std::uint64_t>(cheapest + price_of(bytes.wide)));
    }
    if (reach.narrow < end_in_stretch) {
      const std::int64_t cheapest = narrow_.cheapest(reach.narrow, end_in_stretch - 1);
      offer(best, static_cast<std::uint64_t>(cheapest + price_of(bytes.narrow)));
    }
    return best;
  }

  /// By blocks of flexible rows, or whose starts take four bytes.
  [[gnu::noinline]] std::uint64_t arrive_flexible(const Reach& reach, std::uint32_t end_in_stretch) const {
    std::uint64_t best = std::numeric_limits<std::uint64_t>::max();
    for (std::uint32_t from = reach.rows; from < reach.wide; ++from) {
      const std::uint64_t bytes = rules_.sizes.shape(stretch_.begin + from, stretch_.begin + end_in_stretch).bytes;
      offer(best, arrival(length_of(places_[from].arrival) + rules_.descriptor_price + bytes * parts_per_byte, from));
    }
    return best;
  }

  /// No branch: which of two blocks is cheaper is what no processor can guess.
  static void offer(std::uint64_t& best, std::uint64_t arrival) { best = std::min(best, arrival); }

  const PathRules& rules_;
  Stretch stretch_;
  const BlockPrices& prices_;
  PathPlace* places_;
  Begins<&PathPlace::narrow> narrow_;
  Begins<&PathPlace::wide> wide_;
};

/// Where a block's price depends on how much of it repeats: each with each.
void find_with_heads(const PathRules& rules, const Stretch& stretch, const BlockPrices& prices, PathMemory& memory) {
  for (std::uint32_t begin = stretch.begin; begin < stretch.end; ++begin) {
    const auto places = std::span(memory.places).subspan(begin - stretch.begin);
    rules.blocks.list(begin, memory.found);
    std::uint64_t length = length_of(places[0].arrival) + rules.descriptor_price;
    std::uint32_t bytes_before = 0;
    for (std::uint32_t end = begin + 1; end <= stretch.end; ++end) {
      if (end > begin + 1 && rules.sizes.rows(begin, end) > rules.most_rows) break;
      const std::size_t parts = end - begin;
      const RepeatedBlocks::Id block = parts <= memory.found.size() ? memory.found[parts - 1] : RepeatedBlocks::none;
      const bool repeats = block != RepeatedBlocks::none;
      const std::uint32_t bytes = repeats ? rules.blocks.all()[block].bytes : rules.sizes.shape(begin, end).bytes;
      length += (bytes - bytes_before) * (repeats ? prices.share(block) : parts_per_byte);
      bytes_before = bytes;
      places[parts].arrival = std::min(places[parts].arrival, arrival(length, begin - stretch.begin));
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
  const std::uint32_t cuts = stretch.end - stretch.begin;
  if (memory.places.size() <= cuts) memory.places.resize(cuts + 1);
  for (std::uint32_t cut = 0; cut <= cuts; ++cut)
    memory.places[cut].arrival = std::numeric_limits<std::uint64_t>::max();
  memory.places[0].arrival = 0;
  if (rules.shares_heads) {
    find_with_heads(rules, stretch, prices, memory);
  } else {
    Search(rules, stretch, prices, memory).find();
  }
  path.clear();
  for (std::uint32_t cut = cuts; cut != 0;) {
    cut = from_of(memory.places[cut].arrival);
    path.push_back({stretch.begin + cut, RepeatedBlocks::none});
  }
  std::ranges::reverse(path);
  name_repeated(rules.blocks, stretch, path);
  return length_of(memory.places[cuts].arrival);
}

}  // namespace sframe_gen::emit::compact
