#include "emit/compact/block_finder.hpp"

#include <numeric>

namespace sframe_gen::emit::compact {

BlockFinder::BlockFinder(const RowHashes& hashes, const BlockSizes& sizes, std::uint32_t most_rows,
                         const SingleRows& singles, std::size_t expected)
    : hashes_(hashes), sizes_(sizes), most_rows_(most_rows), single_count_(singles.findings().size()) {
  for (std::uint32_t id = 0; id < single_count_; ++id) singles_.push_back({1, singles.findings().occurrences[id], id});
  found_.blocks.reserve(expected);
}

GroupFound BlockFinder::find(std::span<const CutStart> starts) {
  starts_ = starts;
  counts_at_.assign(starts.size(), 0);
  GroupFound group{0, static_cast<std::uint32_t>(found_.blocks.size()),
                   static_cast<std::uint32_t>(found_.counts.size()), found_.findings.size(), 0};
  begin();
  for (std::uint32_t length = 1; !growing_.empty(); ++length) {
    keep_repeating();
    grow(length);
  }
  for (std::size_t i = 0; i < named_.size(); ++i)
    found_.findings.occurrences[group.first_identifier + i] = blocks_[named_[i]].count;
  sort_by_cut();
  group.identifiers = found_.findings.size() - group.first_identifier;
  return group;
}

void BlockFinder::begin() {
  blocks_.begin(starts_.size() * 2, singles_);
  repeating_.clear();
  named_.clear();
  growing_.resize(starts_.size());
  new_hashes_.resize(starts_.size());
  std::size_t kept = 0, hashes = 0;
  for (std::uint32_t index = 0; index < starts_.size(); ++index) {
    const CutStart& start = starts_[index];
    constexpr std::uint32_t ahead = 16;
    if (index + ahead < starts_.size()) hashes_.expect(starts_[index + ahead].begin.cut + 1);
    if (start.single == CutGroups::lonely) continue;
    growing_[kept++] = {index, start.single};
    if (start.single == SingleRows::none) new_hashes_[hashes++] = hashes_.hash(start.begin, start.begin.cut + 1);
  }
  growing_.resize(kept);
  new_hashes_.resize(hashes);
  count_new(1);
}

void BlockFinder::count_new(std::uint32_t length) {
  if (blocks_.is_short_of(new_hashes_.size())) make_room();
  if (new_.size() < new_hashes_.size() + 1) new_.resize(new_hashes_.size() + 1);
  std::uint32_t new_identifiers = 0, new_entries = 0;
  constexpr std::size_t ahead = 16;
  std::size_t next = 0;
  for (Place& place : growing_) {
    if (place.block != SingleRows::none) continue;
    if (next + ahead < new_hashes_.size()) blocks_.will_look_for(new_hashes_[next + ahead]);
    // The hash stands for the contents: two blocks with one hash would only be priced wrongly, for rows that are not
    // written are compared one by one.
    const std::uint64_t hash = new_hashes_[next++];
    place.block = blocks_.find(hash);
    BlockCounts::Entry& entry = blocks_[place.block];
    entry.hash = hash;
    ++entry.count;
    new_entries += entry.count == 1 ? 1 : 0;
    new_[new_identifiers] = {place.block, starts_[place.index].begin.cut};
    new_identifiers += entry.count == 2 ? 1 : 0;
  }
  blocks_.count_used(new_entries);
  name(std::span(new_).first(new_identifiers), length);
}

void BlockFinder::name(std::span<const New> blocks, std::uint32_t length) {
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    constexpr std::size_t ahead = 8;
    if (i + ahead < blocks.size()) sizes_.expect(blocks[i + ahead].cut, blocks[i + ahead].cut + length);
    const New& block = blocks[i];
    blocks_[block.number].identifier =
        single_count_ + found_.findings.add(sizes_.shape(block.cut, block.cut + length).bytes);
    named_.push_back(block.number);
  }
}

void BlockFinder::keep_repeating() {
  const std::size_t found = repeating_.size();
  repeating_.resize(found + growing_.size());
  Place* repeating = repeating_.data() + found;
  std::size_t kept = 0;
  for (std::size_t i = 0; i < growing_.size(); ++i) {
    constexpr std::size_t ahead = 16;
    if (i + ahead < growing_.size()) blocks_.will_ask_for(growing_[i + ahead].block);
    const Place place = growing_[i];
    const BlockCounts::Entry& block = blocks_[place.block];
    const std::uint32_t repeats = block.count >= 2 ? 1 : 0;
    repeating[kept] = {place.index, block.identifier};
    growing_[kept] = place;
    counts_at_[place.index] += repeats;
    kept += repeats;
  }
  growing_.resize(kept);
  repeating_.resize(found + kept);
}

void BlockFinder::grow(std::uint32_t length) {
  new_hashes_.resize(growing_.size());
  std::size_t kept = 0, hashes = 0;
  for (const Place& place : growing_) {
    const CutStart& start = starts_[place.index];
    const std::uint32_t end = start.begin.cut + length;
    if (end == start.end_of_stretch) continue;
    const std::uint32_t rows_before = hashes_.rows(start.begin, end), rows = hashes_.rows(start.begin, end + 1);
    if (rows > most_rows_) continue;
    // A function that says nothing new leaves the block what it was.
    const bool grows = rows != rows_before;
    growing_[kept++] = {place.index, grows ? SingleRows::none : place.block};
    if (grows) new_hashes_[hashes++] = hashes_.hash(start.begin, end + 1);
  }
  growing_.resize(kept);
  new_hashes_.resize(hashes);
  count_new(length + 1);
}

void BlockFinder::make_room() {
  const std::vector<std::uint32_t> moved = blocks_.grow(new_hashes_.size());
  for (Place& place : growing_)
    if (place.block != SingleRows::none) place.block = moved[place.block];
  for (std::uint32_t& block : named_) block = moved[block];
}

void BlockFinder::sort_by_cut() {
  found_.counts.insert(found_.counts.end(), counts_at_.begin(), counts_at_.end());
  const std::size_t first = found_.blocks.size();
  next_.resize(counts_at_.size());
  std::exclusive_scan(counts_at_.begin(), counts_at_.end(), next_.begin(), static_cast<std::uint32_t>(first));
  found_.blocks.resize(first + repeating_.size());
  for (const Place& place : repeating_) found_.blocks[next_[place.index]++] = place.block;
}

}  // namespace sframe_gen::emit::compact
