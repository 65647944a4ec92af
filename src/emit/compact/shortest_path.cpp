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
std::uint32_t from_of(std::uint64_t arrival) {
  return static_cast<std::uint32_t>(arrival & ((1U << Stretch::longest_bits) - 1));
}

/// Where blocks of default rows may begin whose row starts have one width. Their price is the sum of two numbers, one
/// that the begin has and one that the end has, so the cheapest begin is known without a look at each. Ends go by in
/// ascending order, and what is too far away for one is so for all behind it: so a begin counts only as long as there
/// is none behind it that is cheaper, and each comes and goes once.
class Begins {
 public:
  Begins(unsigned width, std::uint32_t largest_start, const BlockSizes& sizes, const Stretch& stretch,
         std::vector<PricedBegin>& memory)
      : sizes_(sizes),
        width_(width),
        largest_start_(largest_start),
        bytes_before_(sizes.plain_bytes_at_begin(stretch.begin, width)) {
    if (memory.size() < stretch.end - stretch.begin) memory.resize(stretch.end - stretch.begin);
    first_ = end_ = memory.data();
  }

  /// Behind all that are there. `length`: up to behind the descriptor.
  void add(std::uint32_t cut, std::uint64_t length) {
    const std::uint32_t bytes = sizes_.plain_bytes_at_begin(cut, width_) - bytes_before_;
    const auto price = static_cast<std::int64_t>(length - bytes * parts_per_byte);
    while (end_ > first_ && end_[-1].price > price) --end_;
    *end_++ = {price, cut};
  }

  /// The first of the cheapest from `least` on, or null, and the length of the path by it.
  const PricedBegin* cheapest(std::uint32_t end, std::uint32_t least, std::uint64_t& length) {
    while (first_ < end_ && (first_->cut < least || sizes_.last_start(first_->cut, end) > largest_start_)) ++first_;
    if (first_ == end_) return nullptr;
    const std::uint32_t bytes = sizes_.plain_bytes_at_end(end, width_) - bytes_before_;
    length = static_cast<std::uint64_t>(first_->price) + bytes * parts_per_byte;
    return first_;
  }

 private:
  const BlockSizes& sizes_;
  unsigned width_;
  std::uint32_t largest_start_;
  std::uint32_t bytes_before_;
  PricedBegin *first_, *end_;  ///< ascending by cut and by price
};

/// Where each block has a price of its own.
class Search {
 public:
  Search(const PathRules& rules, const Stretch& stretch, const BlockPrices& prices, PathMemory& memory)
      : rules_(rules),
        sizes_(rules.sizes),
        stretch_(stretch),
        prices_(prices.prices.data()),
        arrivals_(memory.arrivals.data()),
        narrow_(1, UINT8_MAX, rules.sizes, stretch, memory.narrow),
        wide_(2, UINT16_MAX, rules.sizes, stretch, memory.wide),
        first_in_reach_(stretch.begin),
        first_that_fits_(stretch.begin) {}

  void find() {
    for (std::uint32_t cut = stretch_.begin; cut < stretch_.end; ++cut) {
      leave(cut);
      arrive(cut + 1);
    }
  }

 private:
  /// Blocks that repeat, and begins of those that do not. A block that repeats costs no more than as one of these, so
  /// it does no harm that it is among them too.
  void leave(std::uint32_t begin) {
    const std::uint64_t length = length_up_to(begin) + rules_.descriptor_price;
    auto found = rules_.blocks.at(begin);
    if (found.size() > stretch_.end - begin) found = found.first(stretch_.end - begin);
    for (std::uint32_t end = begin; const RepeatedBlocks::Id block : found)
      offer(begin, ++end, length + prices_[block]);
    narrow_.add(begin, length);
    wide_.add(begin, length);
  }

  /// Blocks that do not repeat.
  void arrive(std::uint32_t end) {
    // One part is never too long.
    while (first_in_reach_ + 1 < end && sizes_.rows(first_in_reach_, end) > rules_.most_rows) ++first_in_reach_;
    first_that_fits_ = std::max(first_that_fits_, first_in_reach_);
    while (first_that_fits_ < end && !fits(first_that_fits_, end)) ++first_that_fits_;
    for (std::uint32_t begin = first_in_reach_; begin < first_that_fits_; ++begin) {
      const std::uint64_t price = rules_.descriptor_price + sizes_.shape(begin, end).bytes * parts_per_byte;
      offer(begin, end, length_up_to(begin) + price);
    }
    std::uint64_t length = 0;
    if (const auto* const wide = wide_.cheapest(end, first_that_fits_, length)) offer(wide->cut, end, length);
    if (const auto* const narrow = narrow_.cheapest(end, first_that_fits_, length)) offer(narrow->cut, end, length);
  }

  bool fits(std::uint32_t begin, std::uint32_t end) const {
    return sizes_.is_plain(begin, end) && sizes_.last_start(begin, end) <= UINT16_MAX;
  }

  std::uint64_t length_up_to(std::uint32_t cut) const { return length_of(arrivals_[cut - stretch_.begin]); }
  /// No branch: which of two blocks is cheaper is what no processor can guess.
  void offer(std::uint32_t begin, std::uint32_t end, std::uint64_t length) {
    std::uint64_t& best = arrivals_[end - stretch_.begin];
    best = std::min(best, arrival(length, begin - stretch_.begin));
  }

  const PathRules& rules_;
  const BlockSizes& sizes_;
  Stretch stretch_;
  const std::uint32_t* prices_;
  std::uint64_t* arrivals_;  ///< at each cut, by the shortest path from the stretch's first one
  Begins narrow_, wide_;
  std::uint32_t first_in_reach_;   ///< of the begins: what is before it has too many rows
  std::uint32_t first_that_fits_;  ///< of these, into one of the widths
};

/// Where a block's price depends on how much of it repeats: each with each.
void find_with_heads(const PathRules& rules, const Stretch& stretch, const BlockPrices& prices,
                     std::span<std::uint64_t> all_arrivals) {
  for (std::uint32_t begin = stretch.begin; begin < stretch.end; ++begin) {
    const auto arrivals = all_arrivals.subspan(begin - stretch.begin);
    const auto found = rules.blocks.at(begin);
    std::uint64_t length = length_of(arrivals[0]) + rules.descriptor_price;
    std::uint32_t bytes_before = 0;
    for (std::uint32_t end = begin + 1; end <= stretch.end; ++end) {
      if (end > begin + 1 && rules.sizes.rows(begin, end) > rules.most_rows) break;
      const std::size_t parts = end - begin;
      const bool repeats = parts <= found.size();
      const std::uint32_t bytes = repeats ? rules.block_bytes[found[parts - 1]] : rules.sizes.shape(begin, end).bytes;
      length += (bytes - bytes_before) * (repeats ? prices.shares[found[parts - 1]] : parts_per_byte);
      bytes_before = bytes;
      arrivals[parts] = std::min(arrivals[parts], arrival(length, begin - stretch.begin));
    }
  }
}

}  // namespace

std::uint64_t shortest_path(const PathRules& rules, const Stretch& stretch, const BlockPrices& prices,
                            std::vector<std::uint32_t>& starts, PathMemory& memory) {
  memory.arrivals.assign(stretch.end - stretch.begin + 1, std::numeric_limits<std::uint64_t>::max());
  memory.arrivals[0] = 0;
  if (rules.shares_heads) {
    find_with_heads(rules, stretch, prices, memory.arrivals);
  } else {
    Search(rules, stretch, prices, memory).find();
  }
  starts.clear();
  for (std::uint32_t cut = stretch.end - stretch.begin; cut != 0;) {
    cut = from_of(memory.arrivals[cut]);
    starts.push_back(stretch.begin + cut);
  }
  std::ranges::reverse(starts);
  return length_of(memory.arrivals.back());
}

}  // namespace sframe_gen::emit::compact
