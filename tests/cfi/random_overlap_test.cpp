// FDEs at random that overlap, merged, against the definition PC by PC.

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <random>
#include <vector>

#include "cfi/cfi_builder.hpp"
#include "cfi/frame_source.hpp"

namespace sframe_gen::test {
namespace {

constexpr std::uint64_t code_size = 96;

/// What holds at a PC.
struct AtPc {
  cfi::Rules rules;
  bool signal_frame = false, b_key = false;
  friend bool operator==(const AtPc&, const AtPc&) = default;
};

const cfi::Rules disagreement{cfi::UnknownReason::ConflictingFdes, {}, {}, {}};

std::vector<SpelledFunction> random_functions(std::minstd_rand& random) {
  const auto below = [&](std::uint64_t limit) { return random() % limit; };
  std::vector<SpelledFunction> functions(1 + below(6));
  const bool has_many_kinds = below(3) == 0;
  for (SpelledFunction& function : functions) {
    function.start = 0x1000 + below(code_size - 1);
    function.size = 1 + below(0x1000 + code_size - function.start);
    function.signal_frame = has_many_kinds && below(3) == 0;
    function.b_key = has_many_kinds && below(3) == 0;
    for (std::uint32_t at = 0; at < function.size; at += 1 + static_cast<std::uint32_t>(below(24)))
      function.rows.push_back({at, {reg(7, static_cast<std::int64_t>(8 * (1 + below(3)))), {}, {}, at_cfa(-8)}});
  }
  std::ranges::stable_sort(functions, {}, &SpelledFunction::start);
  // Only what overlaps is merged.
  std::uint64_t end = functions.front().start + 1;
  std::erase_if(functions, [&](const SpelledFunction& function) {
    if (function.start >= end) return true;
    end = std::max(end, function.start + function.size);
    return false;
  });
  return functions;
}

std::optional<AtPc> what_holds(const SpelledFunction& function, std::uint64_t pc) {
  if (pc < function.start || pc - function.start >= function.size) return {};
  const auto next = std::ranges::upper_bound(function.rows, pc - function.start, {}, &SpelledRow::pc_offset);
  return AtPc{std::prev(next)->rules, function.signal_frame, function.b_key};
}

TEST(Overlap, IsItsDefinitionAtEachPc) {
  std::minstd_rand random(40);
  std::size_t agreed = 0, conflicts = 0;
  for (int round = 0; round < 2'000; ++round) {
    const std::vector<SpelledFunction> functions = random_functions(random);
    cfi::RuleTable rules;
    std::vector<cfi::Function> all;
    for (const SpelledFunction& function : functions) all.push_back(interned(function, rules));
    std::vector<SpelledFunction> merged;
    for (const cfi::Function& function : cfi::merge_overlapping(all, rules)) merged.push_back(spelled(function, rules));
    for (std::uint64_t pc = 0x1000; pc < 0x1000 + code_size; ++pc) {
      std::vector<AtPc> said, found;
      for (const SpelledFunction& function : functions)
        if (const auto holds = what_holds(function, pc)) said.push_back(*holds);
      for (const SpelledFunction& function : merged)
        if (const auto holds = what_holds(function, pc)) found.push_back(*holds);
      ASSERT_EQ(found.size(), said.empty() ? 0U : 1U) << "round " << round << ", pc " << pc;
      if (said.empty()) continue;
      const bool all_agree = std::ranges::all_of(said, [&](const AtPc& one) { return one == said.front(); });
      ++(all_agree ? agreed : conflicts);
      if (all_agree) {
        ASSERT_EQ(found.front(), said.front()) << "round " << round << ", pc " << pc;
      } else {
        ASSERT_EQ(found.front().rules, disagreement) << "round " << round << ", pc " << pc;
      }
    }
  }
  EXPECT_GT(agreed, 50'000U);
  EXPECT_GT(conflicts, 30'000U);
}

}  // namespace
}  // namespace sframe_gen::test
