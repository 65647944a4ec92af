#include "encode/stub_merge.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <set>
#include <vector>

#include "cfi/formulas.hpp"
#include "cfi/spelled.hpp"
#include "emit/dialect.hpp"

namespace sframe_gen::encode {
namespace {

using rows::stubs::StubRow;
using test::at_cfa;
using test::reg;
using test::SpelledFunction;
using test::SpelledRow;

constexpr std::uint64_t start = 0x1000, size = 0xc0;

cfi::Rules with_cfa(const cfi::CfaRule& cfa) {
  return {cfa, {}, {}, at_cfa(-8)};
}

/// Call frame information of a whole table, with its second row from `offset` on.
SpelledFunction table_with(const cfi::CfaRule& first, std::uint64_t offset, const cfi::CfaRule& second) {
  SpelledFunction frames;
  frames.start = start;
  frames.size = size;
  frames.rows = {{0, with_cfa(first)}};
  if (offset < size) frames.rows.push_back({offset, with_cfa(second)});
  return frames;
}

/// Which PCs it and the stubs say different things of, one by one.
std::set<std::uint64_t> differences(const SpelledFunction& function, const rows::stubs::StubRun& run,
                                    const emit::Dialect& dialect) {
  const auto stub_rules_at = [&](std::uint64_t offset) {
    return *std::find_if(run.rows.rbegin(), run.rows.rend(), [&](const StubRow& row) {
              return row.offset <= offset;
            })->rules;
  };
  const auto rules_at = [&](std::uint64_t offset) {
    return std::find_if(function.rows.rbegin(), function.rows.rend(),
                        [&](const SpelledRow& row) { return row.pc_offset <= offset; })
        ->rules;
  };
  std::set<std::uint64_t> found;
  for (std::uint64_t pc = run.start; pc < run.end(); ++pc) {
    const std::uint64_t offset = pc - run.start;
    const cfi::Rules right = stub_rules_at(run.repeat_size != 0 ? offset % run.repeat_size : offset);
    cfi::Rules said = rules_at(pc - function.start);
    if (const auto* const stub = std::get_if<cfi::PltStub>(&said.cfa))
      said.cfa = cfi::Formula{stub->base, stub->offset + (pc % 16 >= stub->threshold ? 8 : 0), false};
    if (emit::represent(right, dialect) != emit::represent(said, dialect)) found.insert(pc);
  }
  return found;
}

std::set<std::uint64_t> found_by_merge(const SpelledFunction& function, const rows::stubs::StubRun& run,
                                       const emit::Dialect& dialect) {
  const rows::stubs::StubList stubs{{run}, {{run.start, run.end()}}};
  Coverage coverage;
  cfi::RuleTable rules;
  const emit::SplitFunction nothing;
  StubMerge merge(
      stubs, {0, UINT64_MAX}, rules, dialect, [&](const auto&) -> const emit::SplitFunction& { return nothing; },
      coverage);
  merge.add(test::interned(function, rules));
  merge.finish();
  std::set<std::uint64_t> found;
  for (const StubContradiction& place : coverage.contradictions)
    for (std::uint64_t pc = place.begin; pc < place.end; ++pc) found.insert(pc);
  return found;
}

// What agrees over an entry is not looked at again up to the row's end: no PC may be lost by that.
TEST(StubMerge, NamesEachPcThatIsContradicted) {
  const emit::Dialect dialect = emit::make_dialect({}, sframe::Abi::Amd64, "file");
  const cfi::PltStub lazy{cfi::DwarfRegister{7}, 8, 11}, other{cfi::DwarfRegister{7}, 8, 6};
  const std::vector<cfi::CfaRule> cfas{lazy, other, reg(7, 8), reg(7, 16)};
  const StubRow before{0, with_cfa(reg(7, 8))}, after{11, with_cfa(reg(7, 16))};
  std::vector<rows::stubs::StubRun> runs;
  for (const std::uint64_t begin : {std::uint64_t{0}, std::uint64_t{16}, std::uint64_t{0x40}}) {
    runs.push_back({start + begin, size - begin, 1, 16, {before, after}, "pushes"});
    runs.push_back({start + begin, size - begin, 1, 0, {before}, "does not"});
    runs.push_back({start + begin, 16, 1, 0, {before, after}, "once"});
  }
  std::size_t some = 0;
  for (const rows::stubs::StubRun& run : runs) {
    for (const cfi::CfaRule& first : cfas) {
      for (const cfi::CfaRule& second : cfas) {
        for (std::uint64_t offset = 1; offset <= 0x50; ++offset) {
          const SpelledFunction frames = table_with(first, offset, second);
          const auto expected = differences(frames, run, dialect);
          ASSERT_EQ(found_by_merge(frames, run, dialect), expected)
              << run.form << " at " << run.start << ", " << offset;
          if (!expected.empty() && expected.size() != run.size) ++some;
        }
      }
    }
  }
  EXPECT_GT(some, 1000U);
}

}  // namespace
}  // namespace sframe_gen::encode
