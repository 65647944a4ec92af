#include "emit/compact/shortest_path.hpp"

#include <algorithm>
#include <limits>

namespace sframe_gen::emit::compact {

namespace {

class Search {
 public:
  Search(const Run& run, const Prices& prices) : cuts_(run.cuts), prices_(prices), arrivals_(cuts_.size()) {
    arrivals_.front().length = 0;
  }

  /// Each block has a price of its own. The bytes of default rows with starts of one width are the difference of two
  /// sums, one up to the block's end and one up to its begin.
  void find() {
    struct Begin {
      std::int64_t narrow, wide;  ///< what is paid up to there, with starts of one byte and of two
    };
    std::vector<Begin> begins(cuts_.size());
    for (std::uint32_t end = 1; end < cuts_.size(); ++end) {
      // Prices are the only memory that is read in no order.
      __builtin_prefetch(&prices_.repeated[cuts_[std::min<std::size_t>(end + 8, cuts_.size() - 1)].repeated_block]);
      leave_by_repeated(end - 1);
      begins[end - 1] = {price_at(end - 1, 1), price_at(end - 1, 2)};
      const Cut& cut = cuts_[end];
      Arrival arrival = arrivals_[end];
      std::uint32_t begin = end - cut.reach;
      for (; begin < end - cut.wide_reach; ++begin) arrival.offer(departure(begin) + price_of(begin, end), begin);
      const std::int64_t wide = price_up_to(cut, 2), narrow = price_up_to(cut, 1);
      for (; begin < end - cut.narrow_reach; ++begin)
        arrival.offer(static_cast<std::uint64_t>(begins[begin].wide + wide), begin);
      for (; begin < end; ++begin) arrival.offer(static_cast<std::uint64_t>(begins[begin].narrow + narrow), begin);
      arrivals_[end] = arrival;
    }
  }

  /// A block's price depends on how much of it repeats: looks at each.
  void find_with_heads() {
    for (std::uint32_t begin = 0; begin + 1 < cuts_.size(); ++begin) {
      leave_by_repeated(begin);
      const std::uint32_t longest = cuts_[begin].repeated_block, cuts = prices_.repeated[longest].cuts;
      const std::uint64_t saved = price_of(begin, begin + cuts) - prices_.repeated[longest].share;
      for (std::uint32_t end = begin + cuts + 1; end < cuts_.size(); ++end) {
        if (end != begin + 1 && rows_between(cuts_[begin], cuts_[end]) > prices_.most_rows) break;
        arrivals_[end].offer(departure(begin) + price_of(begin, end) - saved, begin);
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
    return arrivals_.back().length;
  }

 private:
  /// The shortest way to a cut, and where its last block begins.
  struct Arrival {
    std::uint64_t length = std::numeric_limits<std::uint64_t>::max();
    std::uint32_t begin = 0;

    void offer(std::uint64_t other_length, std::uint32_t other_begin) {
      const bool is_shorter = other_length < length;
      length = is_shorter ? other_length : length;
      begin = is_shorter ? other_begin : begin;
    }
  };

  std::uint64_t departure(std::uint32_t begin) const { return arrivals_[begin].length + prices_.descriptor; }

  /// What is paid up to a block that begins at the cut, but for what price_up_to() counts again.
  std::int64_t price_at(std::uint32_t begin, std::uint32_t width) const {
    const Cut& cut = cuts_[begin];
    const std::uint64_t repeated = cut.repeated_plain + (cut.repeats ? width : 0);
    return static_cast<std::int64_t>(departure(begin) + (prices_.attribute_bytes + repeated) * parts_per_byte) -
           price_up_to(cut, width);
  }

  void leave_by_repeated(std::uint32_t begin) {
    const std::uint64_t start = departure(begin);
    for (auto block = prices_.repeated[cuts_[begin].repeated_block]; block.cuts != 0;) {
      arrivals_[begin + block.cuts].offer(start + block.share, begin);
      block = prices_.repeated[block.head];
    }
  }

  /// Of default rows before a cut, with starts of that width.
  static std::int64_t price_up_to(const Cut& cut, std::uint32_t width) {
    return (std::int64_t{cut.plain_bytes} + std::int64_t{cut.rows_before} * width) *
           static_cast<std::int64_t>(parts_per_byte);
  }
  /// Of a block that does not repeat.
  std::uint64_t price_of(std::uint32_t begin, std::uint32_t end) const {
    if (begin == end) return 0;
    return (prices_.attribute_bytes + shape_of(cuts_[begin], cuts_[end]).bytes) * parts_per_byte;
  }
  std::uint32_t repeated_block(std::uint32_t begin, std::uint32_t end) const {
    std::uint32_t block = cuts_[begin].repeated_block;
    while (prices_.blocks[block].cuts > end - begin) block = prices_.blocks[block].head;
    return prices_.blocks[block].cuts == end - begin ? block : no_block;
  }

  const std::vector<Cut>& cuts_;
  const Prices& prices_;
  std::vector<Arrival> arrivals_;
};

}  // namespace

void Prices::set_shares(std::span<const std::uint64_t> shares) {
  for (std::size_t i = 1; i < blocks.size(); ++i) {
    const RepeatedBlock& block = blocks[i];
    if (heads_are_shared) {
      const std::uint64_t own = (block.bytes - blocks[block.head].bytes) * shares[i];
      repeated[i] = {repeated[block.head].share + own, block.head, block.cuts};
    } else if (shares[i] < parts_per_byte) {
      repeated[i] = {block.bytes * shares[i], block.head, block.cuts};
    } else {
      repeated[i] = repeated[block.head];
    }
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

}  // namespace sframe_gen::emit::compact
