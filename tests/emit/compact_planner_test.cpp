// What the planner of compact sections finds fast, held against what a look at each pair finds.

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <map>
#include <random>
#include <set>

#include "emit/compact/cut_facts.hpp"
#include "emit/compact/repeated_blocks.hpp"
#include "emit/compact/shortest_path.hpp"
#include "emit/compact_cases.hpp"

namespace sframe_gen::test {
namespace {

using emit::compact::BlockPrices;
using emit::compact::BlockSizes;
using emit::compact::PathBlock;
using emit::compact::PathRules;
using emit::compact::Reach;
using emit::compact::Reaches;
using emit::compact::RepeatedBlocks;
using emit::compact::Sequence;

/// Small functions of few kinds, so that much repeats; some long, and some with rows that only a flexible descriptor
/// can say.
sframe::Fde random_function(std::mt19937& random, std::uint64_t start, bool flexible) {
  const auto below = [&](unsigned limit) { return static_cast<std::uint32_t>(random() % limit); };
  sframe::Fde fde = function(start, 0, {{0, 8}});
  std::uint32_t at = 0;
  for (std::uint32_t rows = below(7); rows > 0; --rows) {
    at += below(40) == 0 ? 40000 : 1 + below(3) * 7;
    const auto sp = static_cast<std::int32_t>(8 + 8 * below(3));
    fde.fres.push_back({at, sframe::RecoveryRules{{flexible && below(30) == 0 ? 10U : 7U, sp, false}, {}, {}, false}});
  }
  fde.size = at + 1 + below(20);
  if (std::ranges::any_of(fde.fres, [](const auto& fre) { return fre.recovery->cfa.base_register == 10U; }))
    fde.type = sframe::FdeType::Flexible;
  return fde;
}

struct Planned {
  Planned(unsigned seed, const emit::Dialect& dialect, int functions = 400, bool one_run = false)
      : dialect_(dialect), sequence(sequence_of(seed, functions, one_run)) {}

  static constexpr emit::RuleId new_part = UINT32_MAX;

  /// Those that begin at the cut.
  std::vector<RepeatedBlocks::Id> found_at(std::uint32_t cut) const {
    std::vector<RepeatedBlocks::Id> found;
    blocks.list(cut, found);
    return found;
  }

  /// Distances and rules of the rows of a block, and where parts of it begin.
  std::vector<std::pair<std::uint32_t, emit::RuleId>> rows(std::uint32_t begin, std::uint32_t end) const {
    std::vector<std::pair<std::uint32_t, emit::RuleId>> rows;
    for (std::uint32_t cut = begin; cut < end; ++cut) {
      rows.emplace_back(0, new_part);
      const bool skips = cut != begin && sequence.cuts[cut].repeats;
      for (std::uint32_t i = sequence.cuts[cut].row + (skips ? 1 : 0); i < sequence.end_of_rows(cut); ++i)
        rows.emplace_back(sequence.rows[i].offset - sequence.offset_of(begin), sequence.rows[i].rule);
    }
    return rows;
  }

  Sequence sequence_of(unsigned seed, int functions, bool one_run) {
    std::mt19937 random(seed);
    std::uint64_t start = 0x1000;
    for (int i = 0; i < functions; ++i) {
      stream_.add(random_function(random, start, dialect_.flexible_descriptors));
      start = stream_.end() + random() % 3;
      if (random() % 50 == 0 && !one_run) stream_.forbid_gap();
    }
    return make_sequence(stream_);
  }

  emit::Dialect dialect_;
  TestGaps gaps_;
  emit::RuleTable table_{dialect_};
  SpelledStream stream_{table_, &gaps_};
  Sequence sequence;
  emit::compact::CutFacts facts{sequence, stream_.rules(), dialect_};
  const BlockSizes& sizes = facts.sizes;
  RepeatedBlocks blocks{sequence, facts, dialect_.compact_rows};
};

class CompactPlanner : public testing::TestWithParam<unsigned> {};

void expect_equal_rows(const Planned& planned) {
  std::map<decltype(planned.rows(0, 0)), std::set<RepeatedBlocks::Id>> numbers;
  std::map<RepeatedBlocks::Id, decltype(planned.rows(0, 0))> contents;
  for (std::uint32_t cut = 0; cut < planned.sequence.cuts.size(); ++cut) {
    for (std::uint32_t end = cut; const RepeatedBlocks::Id block : planned.found_at(cut)) {
      const auto rows = planned.rows(cut, ++end);
      EXPECT_NE(block, RepeatedBlocks::none);
      EXPECT_EQ(rows.size(), planned.sizes.rows(cut, end) + (end - cut));
      numbers[rows].insert(block);
      EXPECT_EQ(contents.emplace(block, rows).first->second, rows);
    }
  }
  for (const auto& [rows, found] : numbers) EXPECT_EQ(found.size(), 1U);
  EXPECT_GT(numbers.size(), 100U);
}

TEST_P(CompactPlanner, BlocksThatRepeatAreThoseWhoseRowsAreEqual) {
  expect_equal_rows(Planned(GetParam(), compact(12)));
}

/// So many that several threads look for them.
TEST(CompactPlannerOfMany, BlocksThatRepeatAreThoseWhoseRowsAreEqual) {
  expect_equal_rows(Planned(1, compact(12), 12000));
}

/// A run that is divided.
TEST(CompactPlannerOfMany, NoBlockReachesOverTheEndOfAStretch) {
  const Planned planned(1, compact(12), 12000, true);
  const std::vector<emit::compact::Stretch> stretches = stretches_of(planned.sequence);
  EXPECT_EQ(planned.sequence.runs.size(), 1U);
  ASSERT_GT(stretches.size(), 1U);
  for (const emit::compact::Stretch& stretch : stretches)
    for (std::uint32_t cut = stretch.begin; cut < stretch.end; ++cut)
      EXPECT_LE(cut + planned.found_at(cut).size(), stretch.end);
  expect_equal_rows(planned);
}

/// Two threads take as long as the longer of them, so a run is divided into an even number of stretches of one length.
TEST(CompactPlannerOfMany, StretchesOfARunAreEquallyLong) {
  for (const int functions : {200, 400, 2000, 3000, 4500, 12000}) {
    const Planned planned(1, compact(12), functions, true);
    const std::vector<emit::compact::Stretch> stretches = stretches_of(planned.sequence);
    if (planned.sequence.cuts.size() < 2048) {
      EXPECT_EQ(stretches.size(), 1U);
      continue;
    }
    EXPECT_EQ(stretches.size() % 2, 0U);
    const std::size_t length = planned.sequence.cuts.size() / stretches.size();
    EXPECT_LE(length, 8192U);
    for (std::uint32_t next = 0; const emit::compact::Stretch& stretch : stretches) {
      EXPECT_EQ(stretch.begin, next);
      next = stretch.end;
      EXPECT_LE(stretch.end - stretch.begin - length, 1U);
    }
    EXPECT_EQ(stretches.back().end, planned.sequence.cuts.size());
  }
}

TEST_P(CompactPlanner, BlocksOfOnePartThatAreEqualAreFound) {
  const Planned planned(GetParam(), compact(12));
  std::map<decltype(planned.rows(0, 0)), std::vector<std::uint32_t>> places;
  for (std::uint32_t cut = 0; cut < planned.sequence.cuts.size(); ++cut)
    places[planned.rows(cut, cut + 1)].push_back(cut);
  for (const auto& [rows, cuts] : places) {
    if (cuts.size() < 2) continue;
    for (const std::uint32_t cut : cuts) EXPECT_FALSE(planned.found_at(cut).empty()) << cut;
  }
}

/// The first cut from which on all blocks up to `end` can be said so, counted from the stretch's first.
template <typename Predicate>
std::uint32_t first_of_all(std::uint32_t begin, std::uint32_t end, Predicate can_begin) {
  std::uint32_t first = end;
  while (first > begin && can_begin(first - 1)) --first;
  return first - begin;
}

TEST_P(CompactPlanner, ReachesAreThoseOfALookAtEachBegin) {
  const Planned planned(GetParam(), compact(12), 400, GetParam() % 2 == 0);
  const BlockSizes& sizes = planned.sizes;
  const Reaches& reaches = planned.facts.reaches;
  std::set<std::uint32_t> narrow_begins;
  for (const auto& [begin, last, run] : stretches_of(planned.sequence)) {
    for (std::uint32_t end = begin + 1; end <= last; ++end) {
      const auto in_reach = [&](std::uint32_t cut) { return cut + 1 == end || sizes.rows(cut, end) <= 12; };
      const auto plain = [&](std::uint32_t cut) { return in_reach(cut) && sizes.is_plain(cut, end); };
      const Reach& reach = reaches.up_to(end);
      EXPECT_EQ(reach.rows, first_of_all(begin, end, in_reach));
      EXPECT_EQ(reach.wide, first_of_all(begin, end, [&](std::uint32_t cut) {
                  return plain(cut) && sizes.last_start(cut, end) <= UINT16_MAX;
                }));
      EXPECT_EQ(reach.narrow, first_of_all(begin, end, [&](std::uint32_t cut) {
                  return plain(cut) && sizes.last_start(cut, end) <= UINT8_MAX;
                }));
      narrow_begins.insert(end - begin - reach.narrow);
    }
  }
  EXPECT_GT(narrow_begins.size(), 4U);
}

/// The shortest path by a look at each block, priced as the comments say.
std::uint64_t length_by_pairs(const PathRules& rules, const BlockPrices& prices, std::uint32_t begin,
                              std::uint32_t end) {
  std::vector<std::uint64_t> lengths(end - begin + 1, std::numeric_limits<std::uint64_t>::max());
  lengths[0] = 0;
  for (std::uint32_t from = begin; from < end; ++from) {
    std::vector<RepeatedBlocks::Id> found;
    rules.blocks.list(from, found);
    std::uint64_t heads = 0, bytes_before = 0;
    for (std::uint32_t to = from + 1; to <= end; ++to) {
      if (to > from + 1 && rules.sizes.rows(from, to) > rules.most_rows) break;
      const std::uint64_t bytes = rules.sizes.shape(from, to).bytes;
      const std::uint64_t share = to - from <= found.size() ? prices.share(found[to - from - 1]) : 4096;
      heads += (bytes - bytes_before) * share;
      bytes_before = bytes;
      const std::uint64_t length =
          lengths[from - begin] + rules.descriptor_price + (rules.shares_heads ? heads : bytes * share);
      lengths[to - begin] = std::min(lengths[to - begin], length);
    }
  }
  return lengths.back();
}

void expect_shortest(const Planned& planned, bool shares_heads, unsigned seed) {
  std::mt19937 random(seed);
  for (std::uint32_t cut = 0; cut < planned.sequence.cuts.size(); ++cut)
    for (std::uint32_t end = cut; const RepeatedBlocks::Id block : planned.found_at(cut))
      EXPECT_EQ(planned.blocks.all()[block].bytes, planned.sizes.shape(cut, ++end).bytes);
  BlockPrices prices(planned.blocks);
  prices.set([&](RepeatedBlocks::Id) { return 4096 / (1 + static_cast<std::uint32_t>(random() % 5)); });
  const PathRules rules{planned.sizes, planned.blocks, planned.facts.reaches, 12, std::uint64_t{16} * 4096,
                        shares_heads};
  std::vector<PathBlock> path;
  emit::compact::PathMemory memory;
  for (const emit::compact::Stretch& stretch : stretches_of(planned.sequence)) {
    const auto [begin, end, run] = stretch;
    EXPECT_EQ(shortest_path(rules, stretch, prices, path, memory), length_by_pairs(rules, prices, begin, end));
    ASSERT_EQ(path.front().begin, begin);
    EXPECT_TRUE(std::ranges::adjacent_find(path, std::greater_equal(), &PathBlock::begin) == path.end());
    EXPECT_LT(path.back().begin, end);
    for (std::size_t i = 0; i < path.size(); ++i) {
      const std::uint32_t parts = (i + 1 < path.size() ? path[i + 1].begin : end) - path[i].begin;
      const std::vector<RepeatedBlocks::Id> found = planned.found_at(path[i].begin);
      EXPECT_EQ(path[i].repeated, parts <= found.size() ? found[parts - 1] : RepeatedBlocks::none);
    }
  }
}

TEST_P(CompactPlanner, PathIsTheShortest) {
  expect_shortest(Planned(GetParam(), compact(12)), false, GetParam());
}

TEST_P(CompactPlanner, PathIsTheShortestWhereBeginningsAreShared) {
  OutputFormat format;
  format.version = Version::V2;
  expect_shortest(Planned(GetParam(), compact(12, format)), true, GetParam());
}

INSTANTIATE_TEST_SUITE_P(Seeds, CompactPlanner, testing::Range(1U, 13U));

}  // namespace
}  // namespace sframe_gen::test
