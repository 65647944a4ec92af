// The two ways through a step of a walk: in processor registers by rows of the common form, and by any row.

#include "unwind/walk.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <random>
#include <vector>

namespace sframe_gen::unwind::test {
namespace {

constexpr std::uint64_t first_word = 0x7000;
constexpr std::uint32_t words_of_stack = 64, rows_by_pc = 8;

/// A stack of random words, of which some cannot be read.
struct RandomStack {
  std::array<std::uint64_t, words_of_stack> words{};
  std::uint64_t readable = 0;  ///< bit by word

  bool word(std::uint64_t address, std::uint64_t& value) const {
    const std::uint64_t number = (address - first_word) / 8;
    if (address % 8 != 0 || address < first_word || number >= words_of_stack) return false;
    if ((readable >> number & 1U) == 0) return false;
    value = words[number];
    return true;
  }
  static std::uint64_t plain(std::uint64_t address) { return address & 0xffff; }
};

/// Rows of PCs, by their lowest bits.
struct RandomRows {
  struct Place {};

  const sframe::AbiTraits& traits;
  std::array<PackedRow, rows_by_pc> rows;

  const sframe::AbiTraits& abi() const { return traits; }
  Stop find(std::uint64_t pc, Place& /*place*/, PackedRow& row) const {
    row = rows[pc % rows_by_pc];
    return pc % 61 == 0 ? Stop::NoRow : Stop::Stepped;
  }
  static Stop step_without_row(Stop why, RandomStack& /*memory*/, Registers& /*registers*/) { return why; }
};

/// Every form that a rule has: from the CFA or a register, there or stored there.
sframe::Lookup random_row(std::mt19937& random, const sframe::AbiTraits& abi) {
  const auto below = [&](unsigned limit) { return static_cast<std::uint32_t>(random() % limit); };
  const auto often = [&] { return below(8) != 0; };
  const auto offset = [&] { return (static_cast<std::int32_t>(below(9)) - 4) * 8; };
  const auto any_rule = [&]() -> sframe::Rule {
    const std::uint32_t base = below(4);
    if (base == 0) return {std::nullopt, offset(), below(2) != 0};
    return {base == 1 ? abi.stack_pointer : base == 2 ? abi.frame_pointer : below(40), offset(), below(2) != 0};
  };
  sframe::Lookup found;
  found.kind = sframe::Lookup::Kind::Row;
  found.signal_frame = !often();
  found.row.mangled_ra = !often();
  found.row.cfa = any_rule();
  if (!found.row.cfa.base_register || often())
    found.row.cfa = sframe::Rule::register_plus(below(2) != 0 ? abi.stack_pointer : abi.frame_pointer,
                                                abi.stack_pointer_bias == 0 ? 16 : 176);
  found.row.return_address = often() ? sframe::Rule::at_cfa(-8) : any_rule();
  found.row.frame_pointer = often() && below(2) != 0 ? sframe::Rule::at_cfa(-16)
                            : often()                ? sframe::Rule::in_register(abi.frame_pointer)
                                                     : any_rule();
  return found;
}

struct WalkedFrames {
  Registers registers;
  std::vector<std::uint64_t> pcs;
  Stop stop = Stop::Stepped;
};

WalkedFrames step_by_step(RandomRows& rows, RandomStack& memory, const Registers& first, std::size_t most) {
  WalkedFrames walked{first, {first.pc}};
  while (walked.pcs.size() < most) {
    walked.stop = Walk(rows, memory, walked.registers, std::span<std::uint64_t>()).step();
    if (walked.stop != Stop::Stepped) break;
    walked.pcs.push_back(walked.registers.pc);
  }
  return walked;
}

class WalkOfEachAbi : public testing::TestWithParam<sframe::Abi> {};

TEST_P(WalkOfEachAbi, BothWaysThroughAStepAgreeForAllForms) {
  const sframe::AbiTraits& abi = sframe::traits_of(GetParam());
  std::mt19937 random(1);
  std::size_t common_steps = 0, other_steps = 0;
  for (int i = 0; i < 20000; ++i) {
    RandomStack memory;
    memory.readable = ~std::uint64_t{0} ^ (std::uint64_t{1} << random() % 64);
    for (std::uint64_t& word : memory.words)
      word = random() % 3 != 0 ? random() % 256 : first_word + random() % words_of_stack * 8;
    RandomRows rows{abi, {}};
    for (PackedRow& row : rows.rows) row = packed(random_row(random, abi), abi);
    Registers first;
    first.pc = 1 + random() % 256;
    first.pc_is_exact = random() % 4 == 0 ? 1 : 0;
    first.set(abi.stack_pointer, first_word + random() % 16 * 8);
    if (random() % 8 != 0) first.set(abi.frame_pointer, first_word + random() % 32 * 8);

    const std::size_t most = 1 + random() % 12;
    const WalkedFrames expected = step_by_step(rows, memory, first, most);
    std::vector<std::uint64_t> pcs(most);
    Registers registers = first;
    Stop stop = Stop::Stepped;
    pcs.resize(Walk(rows, memory, registers, std::span(pcs)).run(stop));
    EXPECT_EQ(pcs, expected.pcs);
    EXPECT_EQ(stop, expected.stop);
    EXPECT_EQ(registers.pc, expected.registers.pc);
    EXPECT_EQ(registers.pc_is_exact, expected.registers.pc_is_exact);
    ASSERT_EQ(registers.known, expected.registers.known);
    for (std::uint32_t number = 0; number < Registers::count; ++number) {
      if (registers.knows(number)) {
        ASSERT_EQ(registers.values[number], expected.registers.values[number]);
      }
    }
    for (std::size_t frame = 0; frame + 1 < pcs.size(); ++frame) {
      const bool is_common = rows.rows[(pcs[frame] - 1) % rows_by_pc].has(PackedRow::common);
      ++(is_common ? common_steps : other_steps);
    }
  }
  EXPECT_GT(common_steps, 5000U);
  EXPECT_GT(other_steps, 1000U);
}
INSTANTIATE_TEST_SUITE_P(Unwind, WalkOfEachAbi,
                         testing::Values(sframe::Abi::Amd64, sframe::Abi::Aarch64Little, sframe::Abi::S390x));

}  // namespace
}  // namespace sframe_gen::unwind::test
