// Functions at random: encoded and decoded again, they are the same, for each ABI and version, by default and compact.

#include <gtest/gtest.h>

#include <random>
#include <utility>
#include <vector>

#include "sframe/format.hpp"
#include "sframe/pc_rows.hpp"
#include "sframe_gen/encode.hpp"

namespace sframe_gen::sframe {
namespace {

class RandomSection : public testing::TestWithParam<std::pair<Abi, Version>> {
 protected:
  std::uint32_t below(std::uint32_t limit) { return static_cast<std::uint32_t>(random_()) % limit; }

  std::int32_t offset() {
    constexpr std::int32_t most[] = {8, 64, 128, 1024, 40'000, 1'000'000};
    return (static_cast<std::int32_t>(below(2 * 8 + 1)) - 8) * (most[below(6)] / 8);
  }

  Rule rule(bool from_cfa) {
    const bool is_usual = below(4) != 0;
    Rule rule{{}, offset(), true};
    if (from_cfa && is_usual) return rule;
    constexpr std::uint32_t others[] = {3, 12, 70};
    const std::uint32_t stack_pointer = abi_.stack_pointer, frame_pointer = abi_.frame_pointer;
    rule.base_register = is_usual ? (below(2) == 0 ? stack_pointer : frame_pointer) : others[below(3)];
    rule.dereferenced = from_cfa ? below(2) == 0 : !is_usual && below(2) == 0;
    return rule;
  }

  std::optional<RecoveryRules> recovery() {
    if (below(20) == 0) return {};
    RecoveryRules rules{rule(false), {}, {}, false};
    if (abi_.fixed_ra_offset == 0 && below(2) == 0) rules.return_address = rule(true);
    if (below(2) == 0) rules.frame_pointer = rule(true);
    rules.mangled_ra = abi_.abi == Abi::Aarch64Little && below(6) == 0;
    return rules;
  }

  Fde function(std::uint64_t start) {
    Fde fde;
    fde.start = start;
    std::uint32_t at = 0;
    for (std::uint32_t rows = 1 + below(6); rows > 0; --rows) {
      const auto rules = recovery();
      if (fde.fres.empty() || fde.fres.back().recovery != rules) fde.fres.push_back({at, rules});
      at += 1 + below(below(20) == 0 ? 70'000 : 60);
    }
    fde.size = at;
    fde.signal_frame = version_ == Version::V3 && below(20) == 0;
    fde.b_key = abi_.abi == Abi::Aarch64Little && below(20) == 0;
    return fde;
  }

  const AbiTraits& abi_ = traits_of(GetParam().first);
  const Version version_ = GetParam().second;
  std::minstd_rand random_{40};
};

/// A function may have a row that the version cannot represent. It is tried alone, so that the others are kept.
TEST_P(RandomSection, IsDecodedAsItWasEncoded) {
  std::size_t functions = 0;
  for (int round = 0; round < 60; ++round) {
    Section section;
    section.address = 0x400000;
    section.version = version_;
    section.abi = abi_.abi;
    section.endian = abi_.abi == Abi::S390x ? Endian::Big : Endian::Little;
    std::uint64_t start = 0x401000;
    for (int i = 0; i < 40; ++i) {
      Section alone = section;
      alone.fdes = {function(start)};
      start += alone.fdes[0].size + below(3) * 16;
      try {
        const auto bytes = encode(alone);
        ASSERT_EQ(pc_rows(decode(bytes, section.address, {"test", "alone"})), pc_rows(alone));
        section.fdes.push_back(alone.fdes[0]);
        ++functions;
      } catch (const CannotRepresent&) {
        continue;
      }
    }
    if (section.fdes.empty()) continue;
    const auto rows = pc_rows(section);
    for (const std::uint32_t compact_rows : {0U, 1U, 7U, 64U}) {
      OutputFormat format = format_of(section);
      format.compact_rows = compact_rows;
      const auto bytes = encode(section, format);
      const Section again = decode(bytes, section.address, {"test", "all"});
      ASSERT_EQ(pc_rows(again), rows) << "round " << round << ", compact " << compact_rows;
      if (compact_rows != 0) continue;
      ASSERT_EQ(encode(again), bytes) << "round " << round;
    }
  }
  EXPECT_GT(functions, 100U);
}

INSTANTIATE_TEST_SUITE_P(Encode, RandomSection,
                         testing::Values(std::pair(Abi::Amd64, Version::V1), std::pair(Abi::Amd64, Version::V2),
                                         std::pair(Abi::Amd64, Version::V3), std::pair(Abi::Aarch64Little, Version::V1),
                                         std::pair(Abi::Aarch64Little, Version::V2),
                                         std::pair(Abi::Aarch64Little, Version::V3),
                                         std::pair(Abi::S390x, Version::V3)));

}  // namespace
}  // namespace sframe_gen::sframe
