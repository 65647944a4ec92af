// What the planner of compact sections finds fast, compared with what a look at each pair finds.

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <map>
#include <random>
#include <set>

#include "emit/compact/cuts.hpp"
#include "emit/compact/planner.hpp"
#include "emit/compact_cases.hpp"

namespace sframe_gen::test {
namespace {

using emit::compact::Cut;
using emit::compact::no_block;
using emit::compact::Path;
using emit::compact::PathBlock;
using emit::compact::Prices;
using emit::compact::RepeatedBlock;
using CodeRun = emit::compact::Run;  // testing::Test has a Run

/// Small functions of few kinds, so that much repeats; some long, and some with rows that only a flexible descriptor
/// can say.
sframe::Fde random_function(std::mt19937& random, std::uint64_t start, bool flexible) {
  const auto below = [&](unsigned limit) { return static_cast<std::uint32_t>(random() % limit); };
  sframe::Fde fde = function(start, 0, {{0, 8}});
  std::uint32_t at = 0;
  for (std::uint32_t rows = below(7); rows > 0; --rows) {
    at += below(40) == 0 ? 40000 : 1 + below(3) * 7;
    const auto sp = static_cast<std::int32_t>(8 + 8 * below(3));
    fde.fres.push_back(
        {at,
         sframe::RecoveryRules{sframe::Rule::register_plus(flexible && below(30) == 0 ? 10U : 7U, sp), {}, {}, false}});
  }
  fde.size = at + 1 + below(20);
  if (std::ranges::any_of(fde.fres, [](const auto& fre) { return fre.recovery->cfa.base_register == 10U; }))
    fde.type = sframe::FdeType::Flexible;
  return fde;
}

constexpr emit::EncodedRuleId at_cut = UINT32_MAX;
using Rows = std::vector<std::pair<std::uint32_t, emit::EncodedRuleId>>;

/// Distances and rules of the rows of a block, and where its cuts are, between rows or at a distance.
Rows rows_of(const CodeRun& run, std::size_t begin, std::size_t end) {
  Rows rows;
  for (std::size_t i = begin; i < end; ++i) {
    const Cut& cut = run.cuts[i];
    const std::uint32_t start = cut.offset - run.cuts[begin].offset;
    rows.emplace_back(cut.repeats && cut.row_count == 1 ? start : 0, at_cut);
    for (std::size_t row = cut.repeats && i != begin ? 1 : 0; row < cut.row_count; ++row)
      rows.emplace_back(start + (cut.rows[row].pc_offset - cut.rows[0].pc_offset), cut.rows[row].rule);
  }
  return rows;
}

struct Planned {
  Planned(unsigned seed, const emit::Dialect& dialect, int functions = 400, bool one_run = false)
      : dialect_(dialect), table_(dialect), stream(TestGaps().stream(table_)) {
    std::mt19937 random(seed);
    std::uint64_t start = 0x1000;
    for (int i = 0; i < functions; ++i) {
      stream.add(random_function(random, start, dialect.flexible_descriptors));
      start = stream.functions().back().start + stream.functions().back().size + random() % 3;
      if (random() % 50 == 0 && !one_run) stream.forbid_gap();
    }
    runs = make_runs(stream, dialect_);
    blocks = find_repeated_blocks(runs, dialect_);
  }

  /// Those that begin at the cut, the shortest first.
  std::vector<std::uint32_t> found_at(const CodeRun& run, std::size_t cut) const {
    const std::uint32_t longest = run.repeated_blocks[cut];
    std::vector<std::uint32_t> found(blocks[longest].cuts);
    for (std::uint32_t block = longest; block != no_block; block = blocks[block].head)
      found.at(blocks[block].cuts - 1) = block;
    return found;
  }

 private:
  emit::Dialect dialect_;
  emit::EncodedRules table_;

 public:
  SpelledStream stream;
  std::vector<CodeRun> runs;
  std::vector<RepeatedBlock> blocks;
};

/// Calls visit(run, begin, end) for each block that a descriptor could have.
template <typename Visit>
void for_each_block(const Planned& planned, std::uint32_t most_rows, Visit visit) {
  for (const CodeRun& run : planned.runs)
    for (std::size_t begin = 0; begin + 1 < run.cuts.size(); ++begin)
      for (std::size_t end = begin + 1; end < run.cuts.size(); ++end) {
        if (end > begin + 1 && rows_between(run.cuts[begin], run.cuts[end]) > most_rows) break;
        visit(run, begin, end);
      }
}

class CompactPlanner : public testing::TestWithParam<unsigned> {};

void expect_repeated_blocks_are_those_with_equal_rows(const Planned& planned) {
  std::map<Rows, std::set<std::uint32_t>> found;
  std::map<Rows, std::uint32_t> places;
  for_each_block(planned, 12, [&](const CodeRun& run, std::size_t begin, std::size_t end) {
    const Rows rows = rows_of(run, begin, end);
    ++places[rows];
    const std::vector<std::uint32_t> blocks = planned.found_at(run, begin);
    found[rows].insert(end - begin <= blocks.size() ? blocks[end - begin - 1] : no_block);
  });
  std::set<std::uint32_t> all;
  for (const auto& [rows, blocks] : found) {
    ASSERT_EQ(blocks.size(), 1U);
    const std::uint32_t block = *blocks.begin();
    EXPECT_EQ(block != no_block, places[rows] >= 2);
    if (block == no_block) continue;
    EXPECT_EQ(planned.blocks[block].places, places[rows]);
    EXPECT_TRUE(all.insert(block).second) << "two blocks of one number";
  }
  EXPECT_GT(all.size(), 100U);
}

TEST_P(CompactPlanner, BlocksThatRepeatAreThoseWhoseRowsAreEqual) {
  expect_repeated_blocks_are_those_with_equal_rows(Planned(GetParam(), compact(12)));
}

/// So many that several threads look for them, in a run that is divided.
TEST(CompactPlannerOfMany, BlocksThatRepeatAreThoseWhoseRowsAreEqual) {
  const Planned planned(1, compact(12), 12000, true);
  EXPECT_GT(planned.runs.size(), 2U);
  expect_repeated_blocks_are_those_with_equal_rows(planned);
}

/// Nothing is left out where a run is divided.
TEST(CompactPlannerOfMany, RunsHaveAllFunctions) {
  const Planned planned(1, compact(12), 12000, true);
  std::size_t functions = 0;
  for (const CodeRun& run : planned.runs) {
    EXPECT_EQ(run.functions.data(), planned.stream.functions().data() + functions);
    EXPECT_EQ(run.start, run.functions.front().start);
    EXPECT_EQ(run.start + run.size, run.functions.back().start + run.functions.back().size);
    functions += run.functions.size();
  }
  EXPECT_EQ(functions, 12000U);
}

/// Shapes are made of sums; here of the rows themselves.
TEST_P(CompactPlanner, ShapesAreThoseOfTheRows) {
  const Planned planned(GetParam(), compact(12));
  const emit::EncodedRules& encoded_rules = planned.stream.encoded_rules();
  for_each_block(planned, 12, [&](const CodeRun& run, std::size_t begin, std::size_t end) {
    std::uint32_t rows = 0, last = 0, plain = 0, flexible = 0;
    bool is_plain = true;
    for (const auto& [start, rule] : rows_of(run, begin, end)) {
      if (rule == at_cut) continue;
      ++rows;
      last = start;
      is_plain &= encoded_rules.tail(rule, sframe::FdeType::Default).size() != 0;
      plain += static_cast<std::uint32_t>(encoded_rules.tail(rule, sframe::FdeType::Default).size());
      flexible += static_cast<std::uint32_t>(encoded_rules.tail(rule, sframe::FdeType::Flexible).size());
    }
    const std::uint32_t width = last <= 0xff ? 1 : last <= 0xffff ? 2 : 4;
    const emit::compact::BlockShape shape = shape_of(run.cuts[begin], run.cuts[end]);
    EXPECT_EQ(shape.rows, rows);
    EXPECT_EQ(bytes_of(shape.width), width);
    EXPECT_EQ(shape.type, is_plain ? sframe::FdeType::Default : sframe::FdeType::Flexible);
    EXPECT_EQ(shape.bytes, rows * width + (is_plain ? plain : flexible));
  });
}

/// The first cut from which on all blocks up to `end` can be written so, counted from the end.
template <typename Predicate>
std::size_t reach_by_a_look_at_each(std::size_t end, Predicate can_begin) {
  std::size_t first = end;
  while (first > 0 && can_begin(first - 1)) --first;
  return end - first;
}

TEST_P(CompactPlanner, ReachesAreThoseOfALookAtEachBegin) {
  const Planned planned(GetParam(), compact(12), 400, GetParam() % 2 == 0);
  std::set<std::uint32_t> found;
  for (const CodeRun& run : planned.runs) {
    for (std::size_t end = 1; end < run.cuts.size(); ++end) {
      const Cut& cut = run.cuts[end];
      const auto in_reach = [&](std::size_t i) { return i + 1 == end || rows_between(run.cuts[i], cut) <= 12; };
      const auto is_default = [&](std::size_t i, emit::EncodedRuleId most) {
        return in_reach(i) && is_plain(run.cuts[i], cut) && last_start(run.cuts[i], cut) <= most;
      };
      EXPECT_EQ(cut.reach, reach_by_a_look_at_each(end, in_reach));
      EXPECT_EQ(cut.wide_reach, reach_by_a_look_at_each(end, [&](std::size_t i) { return is_default(i, 0xffff); }));
      EXPECT_EQ(cut.narrow_reach, reach_by_a_look_at_each(end, [&](std::size_t i) { return is_default(i, 0xff); }));
      found.insert(cut.narrow_reach);
    }
  }
  EXPECT_GT(found.size(), 4U);
}

/// The shortest path by a look at each block, priced as the comments say. `shares`: by repeated block, for each byte.
std::uint64_t length_by_pairs(const Planned& planned, const CodeRun& run, const Prices& prices,
                              const std::vector<std::uint32_t>& shares) {
  std::vector<std::uint64_t> lengths(run.cuts.size(), std::numeric_limits<std::uint64_t>::max());
  lengths[0] = 0;
  for (std::size_t from = 0; from + 1 < run.cuts.size(); ++from) {
    const std::vector<std::uint32_t> found = planned.found_at(run, from);
    std::uint64_t heads = 0, bytes_before = 0;
    for (std::size_t to = from + 1; to < run.cuts.size(); ++to) {
      if (to > from + 1 && rows_between(run.cuts[from], run.cuts[to]) > prices.most_rows) break;
      const std::uint64_t bytes = prices.attribute_bytes + shape_of(run.cuts[from], run.cuts[to]).bytes;
      const std::uint64_t share = to - from <= found.size() ? shares[found[to - from - 1]] : 4096;
      heads += (bytes - bytes_before) * share;
      bytes_before = bytes;
      const std::uint64_t price = prices.heads_are_shared ? heads : bytes * share;
      lengths[to] = std::min(lengths[to], lengths[from] + static_cast<std::uint64_t>(prices.descriptor) + price);
    }
  }
  return lengths.back();
}

void expect_shortest(const Planned& planned, const emit::Dialect& dialect, bool heads_are_shared, unsigned seed) {
  std::mt19937 random(seed);
  Prices prices{std::int64_t{16} * 4096,
                emit::compact::attribute_size(dialect),
                12,
                heads_are_shared,
                planned.blocks,
                std::vector<Prices::Repeated>(planned.blocks.size())};
  std::vector<std::uint32_t> shares{4096};
  for (std::size_t i = 1; i < planned.blocks.size(); ++i)
    shares.push_back(4096 / (1 + static_cast<std::uint32_t>(random() % 5)));
  prices.set_shares([&](std::uint32_t block) { return shares[block]; });
  Path path;
  for (const CodeRun& run : planned.runs) {
    EXPECT_EQ(shortest_path(run, prices, path), length_by_pairs(planned, run, prices, shares));
    ASSERT_EQ(path.front().begin, 0U);
    EXPECT_TRUE(std::ranges::adjacent_find(path, std::greater_equal(), &PathBlock::begin) == path.end());
    EXPECT_LT(path.back().begin, run.cuts.size() - 1);
    for (std::size_t i = 0; i < path.size(); ++i) {
      const std::size_t end = i + 1 < path.size() ? path[i + 1].begin : run.cuts.size() - 1;
      const std::vector<std::uint32_t> found = planned.found_at(run, path[i].begin);
      const std::size_t cuts = end - path[i].begin;
      EXPECT_EQ(path[i].repeated, cuts <= found.size() ? found[cuts - 1] : no_block);
    }
  }
}

TEST_P(CompactPlanner, PathIsTheShortest) {
  expect_shortest(Planned(GetParam(), compact(12)), compact(12), false, GetParam());
}

TEST_P(CompactPlanner, PathIsTheShortestWhereBeginningsAreShared) {
  OutputFormat format;
  format.version = Version::V2;
  expect_shortest(Planned(GetParam(), compact(12, format)), compact(12, format), true, GetParam());
}

INSTANTIATE_TEST_SUITE_P(Seeds, CompactPlanner, testing::Range(1U, 13U));

}  // namespace
}  // namespace sframe_gen::test
