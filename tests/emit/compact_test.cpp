// Compact sections, case by case: which functions go into one descriptor, and what is stored once.

#include <gtest/gtest.h>

#include <map>
#include <random>

#include "emit/compact/compacted.hpp"
#include "emit/compact_cases.hpp"
#include "emit/hex_bytes.hpp"
#include "sframe/pc_rows.hpp"
#include "sframe_gen/find_rows.hpp"

namespace sframe_gen::test {
namespace {

sframe::Fde leaf(std::uint64_t start, std::uint32_t size = 12) {
  return function(start, size, {{0, 8}});
}

/// push, a call, pop: as small functions have it.
sframe::Fde pusher(std::uint64_t start, std::uint32_t size = 14) {
  return function(start, size, {{0, 8}, {1, 16, -16}, {13, 8}});
}

class Compact : public testing::Test {
 protected:
  std::string cut(const std::vector<sframe::Fde>& fdes, const emit::Dialect& dialect = compact()) {
    return text_of(compact_section(fdes, dialect, gaps_));
  }
  TestGaps gaps_;
};

TEST_F(Compact, NeighborsWithEqualRulesNeedOneRow) {
  EXPECT_EQ(cut({leaf(0x1000), leaf(0x1010), leaf(0x1020)}), "0x1000+0x2c rows at 0: 0 sp+8\n");
}

TEST_F(Compact, RuleThatGoesOnIsNotRepeated) {
  EXPECT_EQ(cut({pusher(0x1000), function(0x1010, 20, {{0, 8}, {4, 24}})}),
            "0x1000+0x24 rows at 0: 0 sp+8, 1 sp+16 c-16, 13 sp+8, 20 sp+24\n");
}

TEST_F(Compact, CodeBetweenFunctionsKeepsThemApart) {
  gaps_.code_at = 0x100c;
  EXPECT_EQ(cut({leaf(0x1000), leaf(0x1010)}), "0x1000+0xc rows at 0: 0 sp+8\n0x1010+0xc rows at 0: 0 sp+8\n");
}

TEST_F(Compact, SignalFramesStayApart) {
  sframe::Fde signal = leaf(0x1010);
  signal.signal_frame = true;
  EXPECT_EQ(cut({leaf(0x1000), signal, leaf(0x1020)}),
            "0x1000+0xc rows at 0: 0 sp+8\n0x1010+0xc signal rows at 8: 0 sp+8\n0x1020+0xc rows at 0: 0 sp+8\n");
}

TEST_F(Compact, RowsBeyondTheBoundBeginAnotherDescriptor) {
  const std::vector<sframe::Fde> fdes{pusher(0x1000), pusher(0x1010), pusher(0x1020)};
  EXPECT_EQ(cut(fdes, compact(7)),
            "0x1000+0x2e rows at 0: 0 sp+8, 1 sp+16 c-16, 13 sp+8, 17 sp+16 c-16, 29 sp+8, "
            "33 sp+16 c-16, 45 sp+8\n");
  for (std::uint32_t most = 1; most < 7; ++most) {
    const CompactSection made = compact_section(fdes, compact(most), gaps_);
    for (const sframe::Fde& fde : made.section.fdes) EXPECT_LE(fde.fres.size(), most);
  }
}

/// Apart because of what stands between them, two equal functions have their rows in one place.
TEST_F(Compact, EqualRowsAreStoredOnce) {
  gaps_.code_at = 0x100e;
  EXPECT_EQ(cut({pusher(0x1000), pusher(0x1010)}),
            "0x1000+0xe rows at 0: 0 sp+8, 1 sp+16 c-16, 13 sp+8\n"
            "0x1010+0xe rows at 0: 0 sp+8, 1 sp+16 c-16, 13 sp+8\n");
}

TEST_F(Compact, NothingIsSharedWhereReadersRefuseIt) {
  gaps_.code_at = 0x100e;
  OutputFormat format;
  format.shared_rows = SharedRows::Never;
  EXPECT_EQ(cut({pusher(0x1000), pusher(0x1010)}, compact(32, format)),
            "0x1000+0xe rows at 0: 0 sp+8, 1 sp+16 c-16, 13 sp+8\n"
            "0x1010+0xe rows at 15: 0 sp+8, 1 sp+16 c-16, 13 sp+8\n");
}

/// Version 2 has the count in the descriptor: rows may be the beginning of other rows.
TEST_F(Compact, Version2SharesBeginnings) {
  gaps_.code_at = 0x100e;
  EXPECT_EQ(cut({pusher(0x1000), leaf(0x1010)}, compact(32, v2)),
            "0x1000+0xe rows at 0: 0 sp+8, 1 sp+16 c-16, 13 sp+8\n0x1010+0xc rows at 0: 0 sp+8\n");
  EXPECT_EQ(cut({pusher(0x1000), leaf(0x1010)}, compact(32, v3)),
            "0x1000+0xe rows at 0: 0 sp+8, 1 sp+16 c-16, 13 sp+8\n0x1010+0xc rows at 15: 0 sp+8\n");
}

TEST_F(Compact, WidthFollowsTheLargestStart) {
  const CompactSection made = compact_section({function(0x1000, 0x300, {{0, 8}, {4, 16}})}, compact(), gaps_);
  EXPECT_EQ(hex_bytes(std::span(made.bytes).subspan(44)), "02 00 00 00 00 00 03 08 04 03 10");
}

TEST_F(Compact, FlexibleRowsTakeTheirNeighborsWithThem) {
  sframe::Fde drap = leaf(0x1010);
  drap.type = sframe::FdeType::Flexible;
  drap.add_row(5, {.cfa = sframe::Rule::in_register(10)});
  EXPECT_EQ(cut({leaf(0x1000), drap}), "0x1000+0x1c flexible rows at 0: 0 sp+8, 21 r10+0\n");
}

/// docs/compact.md
TEST_F(Compact, WorkedExampleOfTheDocuments) {
  const std::vector<sframe::Fde> fdes{pusher(0x1000), function(0x1010, 20, {{0, 8}, {4, 24}})};
  SpelledEncoder plain(amd64_v3);
  for (const sframe::Fde& fde : fdes) plain.add(fde);
  const auto before = plain.encode(0x2000);
  EXPECT_EQ(hex_bytes(std::span(before).subspan(28)),
            "e4 ef ff ff ff ff ff ff 0e 00 00 00 00 00 00 00 e4 ef ff ff ff ff ff ff 14 00 00 00 0f 00 00 00 "
            "03 00 00 00 00 00 03 08 01 05 10 f0 0d 03 08 02 00 00 00 00 00 03 08 04 03 18");
  emit::EncodedRules rules(compact());
  SpelledStream stream = gaps_.stream(rules);
  for (const sframe::Fde& fde : fdes) stream.add(fde);
  const auto after = emit::compact::encode(stream, compact()).encoder.encode(0x2000);
  EXPECT_EQ(hex_bytes(std::span(after).subspan(28)),
            "e4 ef ff ff ff ff ff ff 24 00 00 00 00 00 00 00 "
            "04 00 00 00 00 00 03 08 01 05 10 f0 0d 03 08 14 03 18");
}

TEST_F(Compact, TellsBothSizes) {
  std::vector<sframe::Fde> fdes;
  for (std::uint64_t i = 0; i < 40; ++i) fdes.push_back(i % 3 == 0 ? leaf(0x1000 + i * 16) : pusher(0x1000 + i * 16));
  for (const OutputFormat& format : {v3, v2, v1, ctf_frame}) {
    const CompactSection made = compact_section(fdes, compact(32, format), gaps_);
    const Compaction& saved = made.saved;
    EXPECT_EQ(saved.bytes, made.bytes.size());
    SpelledEncoder whole(dialect_of(sframe::Abi::Amd64, format));
    for (const sframe::Fde& fde : fdes) whole.add(fde);
    EXPECT_EQ(saved.default_bytes, whole.encoded_size());
  }
}

/// Functions at random, with a few frames that recur, as compilers make them.
std::vector<sframe::Fde> random_functions(std::mt19937& engine) {
  const auto random = [&] { return static_cast<std::uint32_t>(engine()); };
  std::vector<sframe::Fde> fdes;
  std::uint64_t at = 0x1000;
  for (int i = 0; i < 120; ++i) {
    sframe::Fde fde = function(at, 0, {{0, 8}});
    std::uint32_t offset = 0;
    for (unsigned rows = random() % 40; rows > 0; --rows) {
      offset += 1 + (random() % 8 == 0 ? random() % 400 : random() % 3);
      const sframe::RecoveryRules rules{{7, static_cast<std::int32_t>(8 + 8 * (random() % 5)), false}, {}, {}, false};
      if (fde.fres.back().recovery != rules) fde.fres.push_back({offset, rules});
    }
    fde.size = offset + 1 + random() % 20;
    fde.signal_frame = random() % 50 == 0;
    at += fde.size + random() % 16;
    fdes.push_back(std::move(fde));
  }
  return fdes;
}

/// The recovery at each PC with a row; signal frames apart.
std::map<std::uint64_t, std::string> rows_by_pc(const sframe::Section& section) {
  std::map<std::uint64_t, std::string> rows;
  for (const sframe::PcRow& row : sframe::pc_rows(section))
    for (std::uint64_t pc = row.begin; pc < row.end; ++pc)
      rows[pc] = std::to_string(row.recovery->cfa.offset) + (row.signal_frame ? "s" : "");
  return rows;
}

TEST_F(Compact, EachPcHasTheRowItHad) {
  std::mt19937 random(15);
  for (int round = 0; round < 3; ++round) {
    const std::vector<sframe::Fde> fdes = random_functions(random);
    sframe::Section before;
    before.fdes = fdes;
    const auto expected = rows_by_pc(before);
    for (const std::uint32_t most : {1U, 2U, 5U, 32U, 64U}) {
      for (const OutputFormat& format : {v3, v3_plain}) {
        const CompactSection made = compact_section(fdes, compact(most, format), gaps_);
        const auto found = rows_by_pc(made.section);
        for (const auto& [pc, row] : expected) ASSERT_EQ(found.at(pc), row) << hex(pc) << " at most " << most;
        for (const auto& added : found) {
          const std::uint64_t pc = added.first;
          if (expected.contains(pc)) continue;
          const auto inside = [&](const sframe::Fde& fde) { return pc >= fde.start && pc < fde.start + fde.size; };
          ASSERT_TRUE(std::ranges::none_of(fdes, inside)) << hex(pc);
        }
      }
    }
  }
}

/// Bytes do not depend on how many threads collected the rows.
TEST_F(Compact, AppendedStreamsGiveTheSameBytes) {
  std::mt19937 random(7);
  const std::vector<sframe::Fde> fdes = random_functions(random);
  const emit::Dialect dialect = compact();
  emit::EncodedRules rules(dialect);
  SpelledStream whole = gaps_.stream(rules);
  for (const sframe::Fde& fde : fdes) whole.add(fde);
  const auto expected = emit::compact::encode(whole, dialect).encoder.encode(0x100000);
  for (const std::size_t split : {std::size_t{1}, std::size_t{77}, std::size_t{119}}) {
    SpelledStream first = gaps_.stream(rules), second = gaps_.stream(rules);
    for (std::size_t i = 0; i < fdes.size(); ++i) (i < split ? first : second).add(fdes[i]);
    first.append(std::move(second));
    EXPECT_EQ(emit::compact::encode(first, dialect).encoder.encode(0x100000), expected) << split;
  }
}

TEST_F(Compact, RepeatedBlocksStayAsTheyAre) {
  sframe::Fde plt = function(0x1010, 0x40, {{0, 8}, {11, 16}});
  plt.pc_type = sframe::PcType::Mask;
  plt.repeat_size = 16;
  const CompactSection made = compact_section({leaf(0x1000, 16), plt, leaf(0x1050)}, compact(), gaps_);
  ASSERT_EQ(made.section.fdes.size(), 3U);
  EXPECT_EQ(made.section.fdes[1], plt);
}

}  // namespace
}  // namespace sframe_gen::test
