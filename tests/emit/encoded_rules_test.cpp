// Bytes of rows by hand: what a reader sees (SFrame V3, sections 2.4 and 3).

#include "emit/encoded_rules.hpp"

#include <gtest/gtest.h>

#include <thread>
#include <variant>
#include <vector>

#include "emit/dialects.hpp"
#include "emit/hex_bytes.hpp"
#include "emit/spelled_encoder.hpp"
#include "sframe/format.hpp"

namespace sframe_gen::test {
namespace {

using sframe::FdeType;
using sframe::Fre;
using sframe::RecoveryRules;
using sframe::Rule;

std::string encoded(const Fre& row, FdeType type, sframe::FreAddressWidth width = sframe::FreAddressWidth::One,
                    const emit::Dialect& dialect = amd64_v3) {
  ByteWriter writer(dialect.abi->endian);
  append_row(row.pc_offset, emit::encode_tail(row.recovery, type, dialect), width, writer);
  return hex_bytes(writer.bytes());
}
std::string encoded_default(const RecoveryRules& recovery) {
  return encoded({0, recovery}, FdeType::Default);
}
std::string encoded_flexible(const RecoveryRules& recovery) {
  return encoded({0, recovery}, FdeType::Flexible);
}

Rule on(std::uint32_t base, std::int32_t offset) {
  return {base, offset, false};
}
Rule at(std::uint32_t base, std::int32_t offset) {
  return {base, offset, true};
}
Rule saved_at(std::int32_t offset) {
  return {std::nullopt, offset, true};
}

TEST(EncodeFre, SpBase) {
  EXPECT_EQ(encoded_default({on(7, 8), {}, {}, false}), "00 03 08");
}
TEST(EncodeFre, FpBaseWithSavedFp) {
  EXPECT_EQ(encoded_default({on(6, 16), {}, saved_at(-16), false}), "00 04 10 f0");
}
TEST(EncodeFre, RaUndefined) {
  EXPECT_EQ(encoded({4, std::nullopt}, FdeType::Default), "04 00");
}
TEST(EncodeFre, RaUndefinedInAFlexibleDescriptor) {
  EXPECT_EQ(encoded({4, std::nullopt}, FdeType::Flexible), "04 00");
}

// The narrowest width that holds every word of the row
TEST(EncodeFre, WordWidths) {
  EXPECT_EQ(encoded_default({on(7, 127), {}, {}, false}), "00 03 7f");
  EXPECT_EQ(encoded_default({on(7, 128), {}, {}, false}), "00 23 80 00");
  EXPECT_EQ(encoded_default({on(7, -128), {}, {}, false}), "00 03 80");
  EXPECT_EQ(encoded_default({on(7, -129), {}, {}, false}), "00 23 7f ff");
  EXPECT_EQ(encoded_default({on(7, 32767), {}, {}, false}), "00 23 ff 7f");
  EXPECT_EQ(encoded_default({on(7, 32768), {}, {}, false}), "00 43 00 80 00 00");
  EXPECT_EQ(encoded_default({on(7, -32768), {}, {}, false}), "00 23 00 80");
  EXPECT_EQ(encoded_default({on(7, -32769), {}, {}, false}), "00 43 ff 7f ff ff");
  EXPECT_EQ(encoded_default({on(7, 8), {}, saved_at(-136), false}), "00 25 08 00 78 ff");
}

TEST(EncodeFre, RowAddressWidths) {
  const Fre row{0x34, RecoveryRules{.cfa = on(7, 8)}};
  EXPECT_EQ(encoded(row, FdeType::Default, sframe::FreAddressWidth::Two), "34 00 03 08");
  EXPECT_EQ(encoded(row, FdeType::Default, sframe::FreAddressWidth::Four), "34 00 00 00 03 08");
}

// Flexible: pairs of control and offset for CFA, RA, FP
TEST(EncodeFre, FlexibleCfaOnly) {
  EXPECT_EQ(encoded_flexible({on(7, 8), {}, {}, false}), "00 04 39 08");
}
TEST(EncodeFre, FlexibleCfaInMemory) {
  EXPECT_EQ(encoded_flexible({at(6, -8), {}, {}, false}), "00 04 33 f8");
}
TEST(EncodeFre, FlexibleRaInRegister) {
  EXPECT_EQ(encoded_flexible({on(7, 8), on(3, 0), {}, false}), "00 08 39 08 19 00");
}
TEST(EncodeFre, FlexibleFpAloneHasPaddingForRa) {
  EXPECT_EQ(encoded_flexible({on(10, 0), {}, at(6, 0), false}), "00 0a 51 00 00 33 00");
}
TEST(EncodeFre, FlexibleAllThree) {
  EXPECT_EQ(encoded_flexible({on(7, 8), saved_at(-24), saved_at(-16), false}), "00 0c 39 08 02 e8 02 f0");
}
TEST(EncodeFre, ControlWordsAreUnsigned) {
  EXPECT_EQ(encoded_flexible({on(31, 8), {}, {}, false}), "00 04 f9 08");
  EXPECT_EQ(encoded_flexible({on(40, 8), {}, {}, false}), "00 24 41 01 08 00");
  EXPECT_EQ(encoded_flexible({on((1U << 29U) - 1, 8), {}, {}, false}), "00 44 f9 ff ff ff 08 00 00 00");
}
TEST(EncodeFre, SignalTrampoline) {
  EXPECT_EQ(encoded_flexible({at(7, 160), at(7, 168), at(7, 120), false}), "00 2c 3b 00 a0 00 3b 00 a8 00 3b 00 78 00");
}

TEST(FreAddressWidth, FollowsTheFunctionsSize) {
  EXPECT_EQ(emit::fre_address_width(1), sframe::FreAddressWidth::One);
  EXPECT_EQ(emit::fre_address_width(255), sframe::FreAddressWidth::One);
  EXPECT_EQ(emit::fre_address_width(256), sframe::FreAddressWidth::Two);
  EXPECT_EQ(emit::fre_address_width(65535), sframe::FreAddressWidth::Two);
  EXPECT_EQ(emit::fre_address_width(65536), sframe::FreAddressWidth::Four);
}

// The other ABIs: CFA, RA, FP
std::string encoded_for(sframe::Abi abi, const RecoveryRules& recovery, const OutputFormat& format = v3,
                        FdeType type = FdeType::Default, sframe::FreAddressWidth width = sframe::FreAddressWidth::One) {
  return encoded({4, recovery}, type, width, dialect_of(abi, format));
}

constexpr sframe::Abi aarch64 = sframe::Abi::Aarch64Little, aarch64_be = sframe::Abi::Aarch64Big,
                      s390x = sframe::Abi::S390x;

TEST(EncodeFreAarch64, OneToThreeWords) {
  for (const OutputFormat& format : {v3, v2, v1}) {
    EXPECT_EQ(encoded_for(aarch64, {on(31, 0), {}, {}, false}, format), "04 03 00");
    EXPECT_EQ(encoded_for(aarch64, {on(31, 16), saved_at(-8), {}, false}, format), "04 05 10 f8");
    EXPECT_EQ(encoded_for(aarch64, {on(29, 32), saved_at(-24), saved_at(-32), false}, format), "04 06 20 e8 e0");
  }
}
TEST(EncodeFreAarch64, SignedRowsHaveTheTopBit) {
  for (const OutputFormat& format : {v3, v2, v1}) {
    EXPECT_EQ(encoded_for(aarch64, {on(31, 0), {}, {}, true}, format), "04 83 00");
    EXPECT_EQ(encoded_for(aarch64, {on(31, 32), saved_at(-24), saved_at(-32), true}, format), "04 87 20 e8 e0");
  }
}
TEST(EncodeFreAarch64, ByteOrder) {
  const RecoveryRules wide{on(31, 0x1230), saved_at(-8), {}, false};
  EXPECT_EQ(encoded_for(aarch64, wide), "04 25 30 12 f8 ff");
  EXPECT_EQ(encoded_for(aarch64_be, wide), "04 25 12 30 ff f8");
  const RecoveryRules widest{on(31, 0x12345670), {}, {}, false};
  EXPECT_EQ(encoded_for(aarch64, widest, v3, FdeType::Default, sframe::FreAddressWidth::Four),
            "04 00 00 00 43 70 56 34 12");
  EXPECT_EQ(encoded_for(aarch64_be, widest, v3, FdeType::Default, sframe::FreAddressWidth::Four),
            "00 00 00 04 43 12 34 56 70");
  EXPECT_EQ(encoded_for(aarch64_be, widest, v1, FdeType::Default, sframe::FreAddressWidth::Two),
            "00 04 43 12 34 56 70");
}
TEST(EncodeFreAarch64, Flexible) {
  EXPECT_EQ(encoded_for(aarch64, {on(31, 16), {}, saved_at(-16), true}, v3_flexible, FdeType::Flexible),
            "04 8a f9 10 00 02 f0");
  EXPECT_EQ(encoded_for(aarch64_be, {on(19, 32), on(72, 0), {}, false}, v3_flexible, FdeType::Flexible),
            "04 28 00 99 00 20 02 41 00 00");
}
TEST(EncodeFreAarch64, CtfFrameHasTheFramePointerFirst) {
  EXPECT_EQ(encoded_for(aarch64, {on(29, 32), saved_at(-24), saved_at(-32), false}, ctf_frame), "04 06 20 e0 e8");
  EXPECT_EQ(encoded_for(aarch64_be, {on(31, 32), {}, saved_at(-32), false}, ctf_frame), "04 05 20 e0");
}

TEST(EncodeFreS390x, CfaInUnitsOf8From160) {
  for (const OutputFormat& format : {v3, v2}) {
    EXPECT_EQ(encoded_for(s390x, {on(15, 160), {}, {}, false}, format), "04 03 00");
    EXPECT_EQ(encoded_for(s390x, {on(15, 0), {}, {}, false}, format), "04 03 ec");
    EXPECT_EQ(encoded_for(s390x, {on(11, 336), {}, {}, false}, format), "04 02 16");
    EXPECT_EQ(encoded_for(s390x, {on(15, 1176), {}, {}, false}, format), "04 03 7f");
    EXPECT_EQ(encoded_for(s390x, {on(15, 1184), {}, {}, false}, format), "04 23 00 80");
  }
}
TEST(EncodeFreS390x, AWordKeepsTheReturnAddressesPlace) {
  for (const OutputFormat& format : {v3, v2}) {
    EXPECT_EQ(encoded_for(s390x, {on(15, 160), saved_at(-48), {}, false}, format), "04 05 00 d0");
    EXPECT_EQ(encoded_for(s390x, {on(15, 160), {}, saved_at(-72), false}, format), "04 07 00 00 b8");
    EXPECT_EQ(encoded_for(s390x, {on(15, 336), saved_at(-48), saved_at(-72), false}, format), "04 07 16 d0 b8");
  }
}
TEST(EncodeFreS390x, RegistersAreOddWordsInVersion2) {
  EXPECT_EQ(encoded_for(s390x, {on(15, 160), on(16, 0), {}, false}, v2), "04 05 00 21");
  EXPECT_EQ(encoded_for(s390x, {on(15, 160), on(16, 0), on(17, 0), false}, v2), "04 07 00 21 23");
  EXPECT_EQ(encoded_for(s390x, {on(15, 160), {}, on(17, 0), false}, v2), "04 07 00 00 23");
  EXPECT_EQ(encoded_for(s390x, {on(15, 160), on(63, 0), {}, false}, v2), "04 05 00 7f");
  EXPECT_EQ(encoded_for(s390x, {on(15, 160), on(68, 0), {}, false}, v2), "04 25 00 00 00 89");
}
TEST(EncodeFreS390x, RegistersAreFlexibleInVersion3) {
  EXPECT_EQ(encoded_for(s390x, {on(15, 160), on(16, 0), {}, false}, v3, FdeType::Flexible), "04 08 79 00 81 00");
  EXPECT_EQ(encoded_for(s390x, {on(15, 160), {}, on(17, 0), false}, v3, FdeType::Flexible), "04 0a 79 00 00 89 00");
  EXPECT_EQ(encoded_for(s390x, {on(10, 320), {}, {}, false}, v3, FdeType::Flexible), "04 04 51 14");
}
TEST(EncodeFreS390x, WideWordsAreBigEndian) {
  EXPECT_EQ(encoded_for(s390x, {on(15, 160 + 8 * 0x1234), saved_at(-48), {}, false}), "04 25 12 34 ff d0");
}

cfi::Rules cfa_from_sp(std::int64_t offset) {
  return {cfi::Formula{cfi::amd64::rsp, offset, false}, {}, {}, cfi::Formula{std::nullopt, -8, true}};
}

TEST(EncodedRules, EqualRulesHaveOneNumber) {
  emit::EncodedRules encoded_rules(amd64_v3);
  const RecoveryRules recovery{on(7, 8), {}, {}, false};
  const emit::EncodedRuleId first = encoded_rules.intern(recovery), outermost = encoded_rules.intern(std::nullopt);
  EXPECT_NE(first, outermost);
  EXPECT_EQ(encoded_rules.intern(recovery), first);
  EXPECT_EQ(encoded_rules.intern(std::nullopt), outermost);
  EXPECT_EQ(encoded_rules.size(), 2U);
  EXPECT_TRUE(encoded_rules[outermost].is_outermost);
  EXPECT_FALSE(encoded_rules[first].is_outermost);
}

TEST(EncodedRules, WhatTakesAFlexibleDescriptorHasNoBytesInADefaultOne) {
  emit::EncodedRules encoded_rules(amd64_v3);
  const emit::EncodedRule& rule = encoded_rules[encoded_rules.intern(RecoveryRules{.cfa = on(10, 0)})];
  EXPECT_EQ(rule.in_default.size(), 0U);
  EXPECT_NE(rule.in_flexible.size(), 0U);
}

TEST(RuleTranslations, RulesThatMeanTheSameShareAForm) {
  cfi::RuleTable rules;
  emit::EncodedRules encoded_rules(amd64_v3);
  emit::RuleTranslations translations(rules, encoded_rules);
  cfi::Rules by_register = cfa_from_sp(24), by_cfa = cfa_from_sp(24);
  by_register.frame_pointer = cfi::Formula{cfi::amd64::rsp, 8, true};
  by_cfa.frame_pointer = cfi::Formula{std::nullopt, -16, true};
  const cfi::RuleId first = rules.intern(by_register), second = rules.intern(by_cfa),
                    other = rules.intern(cfa_from_sp(32));
  EXPECT_NE(first, second);
  const auto form_of = [&](cfi::RuleId rule) { return std::get<emit::SingleRow>(translations.of(rule)).rule; };
  EXPECT_NE(form_of(other), form_of(first));
  EXPECT_EQ(form_of(first), form_of(second));
  EXPECT_EQ(encoded_rules.size(), 2U);
}

TEST(RuleTranslations, WhatHasNoFormHasItsReason) {
  cfi::RuleTable rules;
  emit::EncodedRules encoded_rules(amd64_v3);
  emit::RuleTranslations translations(rules, encoded_rules);
  const cfi::RuleId expression = rules.intern({cfi::OtherExpression{}, {}, {}, cfi::Formula{std::nullopt, -8, true}});
  EXPECT_EQ(std::get<Unrepresentable>(translations.of(expression)), Unrepresentable::CfaIsExpression);
  EXPECT_EQ(encoded_rules.size(), 0U);
}

TEST(RuleTranslations, PltEntriesHaveTwo) {
  cfi::RuleTable rules;
  emit::EncodedRules encoded_rules(amd64_v3);
  emit::RuleTranslations translations(rules, encoded_rules);
  const cfi::RuleId stub =
      rules.intern({cfi::PltStub{cfi::amd64::rsp, 8, 11}, {}, {}, cfi::Formula{std::nullopt, -8, true}});
  const auto plt = std::get<emit::PltRows>(translations.of(stub));
  EXPECT_EQ(plt.threshold, 11U);
  EXPECT_EQ(std::get<emit::SingleRow>(translations.of(rules.intern(cfa_from_sp(8)))).rule, plt.before);
  EXPECT_EQ(std::get<emit::SingleRow>(translations.of(rules.intern(cfa_from_sp(16)))).rule, plt.after);
}

// Threads number rules in any order, and ask for numbers of theirs and of others.
TEST(RuleTranslations, AreTheSameInAllThreads) {
  constexpr std::int64_t count = 2000;
  cfi::RuleTable rules;
  emit::EncodedRules encoded_rules(amd64_v3);
  emit::RuleTranslations translations(rules, encoded_rules);
  std::vector<std::vector<emit::EncodedRuleId>> found(4);
  std::vector<std::thread> threads;
  for (std::vector<emit::EncodedRuleId>& own : found)
    threads.emplace_back([&] {
      for (std::int64_t i = 0; i < count; ++i) {
        const emit::EncodedRuleId id = std::get<emit::SingleRow>(translations.of(rules.intern(cfa_from_sp(i)))).rule;
        own.push_back(id);
        const RecoveryRules recovery{on(7, static_cast<std::int32_t>(i)), {}, {}, false};
        ASSERT_EQ(encoded_rules[id].in_default, emit::encode_tail(recovery, FdeType::Default, amd64_v3));
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(encoded_rules.size(), std::size_t{count});
  for (const std::vector<emit::EncodedRuleId>& own : found) EXPECT_EQ(own, found[0]);
}

}  // namespace
}  // namespace sframe_gen::test
