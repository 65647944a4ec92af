#include "emit/compact/repeated_blocks.hpp"

#include <algorithm>
#include <array>
#include <cstddef>

#include "emit/compact/block_finder.hpp"
#include "emit/compact/cut_groups.hpp"
#include "support/workers.hpp"

namespace sframe_gen::emit::compact {

namespace {

constexpr std::size_t cuts_per_worker = 256;
/// Where a cut takes a few nanoseconds: with fewer, to start a thread takes what it saves.
constexpr std::size_t cuts_per_worker_of_short_work = 2048;

/// Places that begin with one row, and go on without another.
struct Kind {
  std::uint32_t occurrences = 0;
  std::uint32_t cut = 0;  ///< of one of them
};
/// Of the same row: of one part, and of two, of which the second is a function that says nothing new.
using Kinds = std::array<Kind, 2>;

std::size_t kind_of(const Sequence& sequence, std::size_t run, std::uint32_t cut) {
  const Run& properties = sequence.runs[run];
  const std::size_t rule = sequence.rows[sequence.cuts[cut].row].rule;
  return rule * 4 + (properties.signal_frame ? 2 : 0) + (properties.b_key ? 1 : 0);
}

template <typename Visit>
void for_each_single_row(const Sequence& sequence, const Stretch& stretch, const PartHashes& hashes, Visit visit) {
  for (std::uint32_t cut = stretch.begin; cut < stretch.end; ++cut) {
    const std::uint32_t parts = hashes.parts_of_single_row(cut);
    if (parts != 0) visit(cut, kind_of(sequence, stretch.run, cut), parts);
  }
}

}  // namespace

RepeatedBlocks::RepeatedBlocks(const Sequence& sequence, const CutFacts& facts, std::uint32_t most_rows)
    : longest_(std::make_unique_for_overwrite<Id[]>(sequence.cuts.size())) {
  const std::size_t workers = workers_for(sequence.cuts.size(), cuts_per_worker);
  const std::size_t short_workers = workers_for(sequence.cuts.size(), cuts_per_worker_of_short_work);
  add_single_rows(sequence, facts, short_workers);
  const CutGroups groups(facts.stretches, facts.hashes, short_workers);
  const auto singles = static_cast<Id>(blocks_.size());
  // What grows in a thread would be copied, and take pages of that thread's own.
  const std::size_t expected = sequence.cuts.size() / 2 / workers;
  std::vector<BlockFinder> finders(
      workers, BlockFinder(facts.hashes, facts.sizes, most_rows, singles, longest_.get(), expected));
  std::vector<std::size_t> finder_of(groups.size());
  parallel_for(groups.size(), workers, [&](std::size_t i, std::size_t worker) {
    finders[worker].find(groups[i]);
    finder_of[i] = worker;
  });

  // Who found what follows from the threads, and so do numbers; but nothing follows from a number.
  std::vector<Id> shifts;
  std::vector<std::vector<RepeatedBlock>> found;
  Id count = singles;
  for (BlockFinder& finder : finders) {
    found.push_back(finder.release());
    shifts.push_back(count - singles);
    count += static_cast<Id>(found.back().size());
  }
  blocks_.reserve(count);
  for (std::size_t i = 0; i < found.size(); ++i) {
    const Id shift = shifts[i];
    for (RepeatedBlock block : found[i]) {
      if (block.head >= singles) block.head += shift;
      blocks_.push_back(block);
    }
  }
  parallel_for(groups.size(), short_workers, [&](std::size_t i, std::size_t) {
    const Id shift = shifts[finder_of[i]];
    if (shift == 0) return;
    for (const CutStart& start : groups[i]) {
      Id& longest = longest_[start.cut];
      if (longest >= singles) longest += shift;
    }
  });
}

/// There are few, and many places begin with them.
void RepeatedBlocks::add_single_rows(const Sequence& sequence, const CutFacts& facts, std::size_t workers) {
  const std::vector<Stretch>& stretches = facts.stretches;
  std::vector<std::vector<Kinds>> found(workers);
  parallel_for(stretches.size(), workers, [&](std::size_t i, std::size_t worker) {
    std::vector<Kinds>& own = found[worker];
    for_each_single_row(sequence, stretches[i], facts.hashes,
                        [&](std::uint32_t cut, std::size_t kind, std::uint32_t most_parts) {
                          if (kind >= own.size()) own.resize(kind + 1);
                          for (std::uint32_t parts = 0; parts < most_parts; ++parts)
                            own[kind][parts] = {own[kind][parts].occurrences + 1, cut};
                        });
  });
  std::vector<Kinds> all;
  for (const std::vector<Kinds>& own : found) {
    if (own.size() > all.size()) all.resize(own.size());
    for (std::size_t kind = 0; kind < own.size(); ++kind)
      for (std::size_t parts = 0; parts < Kinds().size(); ++parts)
        if (own[kind][parts].occurrences != 0)
          all[kind][parts] = {all[kind][parts].occurrences + own[kind][parts].occurrences, own[kind][parts].cut};
  }
  std::vector<std::array<Id, Kinds().size()>> numbers(all.size(), {none, none});
  for (std::size_t kind = 0; kind < all.size(); ++kind) {
    Id head = none;
    for (std::uint32_t parts = 1; const Kind& places : all[kind]) {
      if (places.occurrences >= 2) {
        const std::uint32_t bytes = facts.sizes.shape(places.cut, places.cut + parts).bytes;
        blocks_.push_back({head, parts, places.occurrences, bytes});
        head = static_cast<Id>(blocks_.size() - 1);
      }
      numbers[kind][parts++ - 1] = head;
    }
  }
  parallel_for(stretches.size(), workers, [&](std::size_t i, std::size_t) {
    std::fill(longest_.get() + stretches[i].begin, longest_.get() + stretches[i].end, none);
    for_each_single_row(
        sequence, stretches[i], facts.hashes,
        [&](std::uint32_t cut, std::size_t kind, std::uint32_t parts) { longest_[cut] = numbers[kind][parts - 1]; });
  });
}

RepeatedBlocks::Id RepeatedBlocks::at(std::uint32_t cut, std::uint32_t parts) const {
  Id id = longest_at(cut);
  while (blocks_[id].parts > parts) id = blocks_[id].head;
  return blocks_[id].parts == parts ? id : none;
}

void RepeatedBlocks::list(std::uint32_t cut, std::vector<Id>& found) const {
  Id id = longest_at(cut);
  found.assign(blocks_[id].parts, none);
  for (; id != none; id = blocks_[id].head) found[blocks_[id].parts - 1] = id;
}

}  // namespace sframe_gen::emit::compact
