// Bytes of sections by hand: what a reader sees (SFrame V3, sections 2.2 and 2.3; V2, V1 and CTF Frame likewise).

#include "emit/encoder.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <stdexcept>
#include <vector>

#include "emit/dialects.hpp"
#include "emit/encoded_rules.hpp"
#include "emit/hex_bytes.hpp"
#include "emit/spelled_encoder.hpp"
#include "sframe/format.hpp"

namespace sframe_gen::test {
namespace {

using sframe::FdeType;
using sframe::PcType;
using sframe::RecoveryRules;
using sframe::Rule;

Rule on(std::uint32_t base, std::int32_t offset) {
  return {base, offset, false};
}

sframe::Fde leaf(std::uint64_t start, std::uint32_t size) {
  return {start, size, false, false, PcType::Increment, 0, FdeType::Default, {{0, RecoveryRules{.cfa = on(7, 8)}}}};
}

TEST(SectionEncoder, HeaderIndexAndRows) {
  SpelledEncoder encoder(amd64_v3);
  encoder.add(leaf(0x1000, 5));
  sframe::Fde plt{0x1010,
                  0x20,
                  false,
                  false,
                  PcType::Mask,
                  16,
                  FdeType::Default,
                  {{0, RecoveryRules{.cfa = on(7, 8)}}, {11, RecoveryRules{.cfa = on(7, 16)}}}};
  encoder.add(plt);
  const auto bytes = encoder.encode(0x2000);
  ASSERT_EQ(bytes.size(), encoder.encoded_size());
  EXPECT_EQ(hex_bytes(std::span(bytes).first(28)),
            "e2 de 03 05 03 00 f8 00 02 00 00 00 03 00 00 00 13 00 00 00 00 00 00 00 20 00 00 00");
  // Start: relative to its own field at 0x201c.
  EXPECT_EQ(hex_bytes(std::span(bytes).subspan(28, 16)), "e4 ef ff ff ff ff ff ff 05 00 00 00 00 00 00 00");
  EXPECT_EQ(hex_bytes(std::span(bytes).subspan(44, 16)), "e4 ef ff ff ff ff ff ff 20 00 00 00 08 00 00 00");
  EXPECT_EQ(hex_bytes(std::span(bytes).subspan(60)), "01 00 00 00 00 00 03 08 02 00 10 00 10 00 03 08 0b 03 10");
}

TEST(SectionEncoder, SignalBitAndFlexibleType) {
  SpelledEncoder encoder(amd64_v3);
  sframe::Fde function = leaf(0x1000, 5);
  function.signal_frame = true;
  function.type = FdeType::Flexible;
  encoder.add(function);
  const auto bytes = encoder.encode(0);
  EXPECT_EQ(hex_bytes(std::span(bytes).subspan(44)), "01 00 80 01 00 00 04 39 08");
}

// Of each width of starts, and of both kinds of words; the last row is the shortest there is.
TEST(SectionEncoder, RowsAreEncodedOneAfterTheOther) {
  const RecoveryRules flexible{on(10, 300), {}, Rule::at_register(6, 70000), false};
  for (const sframe::Abi abi : {sframe::Abi::Amd64, sframe::Abi::Aarch64Big}) {
    const emit::Dialect dialect = dialect_of(abi, {});
    SpelledEncoder encoder(dialect);
    ByteWriter expected(dialect.abi->endian);
    std::uint64_t start = 0x1000;
    for (const std::uint32_t size : {0xffU, 0xffffU, 0x10000U}) {
      sframe::Fde function{start, size, false, false, PcType::Increment, 0, FdeType::Default, {}};
      if (dialect.flexible_descriptors) function.type = FdeType::Flexible;
      const RecoveryRules plain{on(dialect.abi->stack_pointer, 16), {}, {}, false};
      function.fres = {
          {0, plain}, {size - 2, dialect.flexible_descriptors ? flexible : plain}, {size - 1, std::nullopt}};
      encoder.add(function);
      const auto width = emit::fre_address_width(size);
      expected.u16(3);
      expected.u8(static_cast<std::uint8_t>(width));
      expected.u8(static_cast<std::uint8_t>(function.type));
      expected.u8(0);
      for (const sframe::Fre& row : function.fres)
        append_row(row.pc_offset, emit::encode_tail(row.recovery, function.type, dialect), width, expected);
      start += size;
    }
    const std::vector<std::byte> bytes = encoder.encode(0x100);
    const std::size_t index_end = dialect.version->header_size() + 3 * dialect.version->descriptor_size;
    EXPECT_TRUE(std::ranges::equal(std::span(bytes).subspan(index_end), expected.bytes()));
    EXPECT_EQ(encoder.fre_count(), 9U);
  }
}

TEST(SectionEncoder, AppendEqualsAddingInOrder) {
  SpelledEncoder whole(amd64_v3), first(amd64_v3), second(amd64_v3);
  for (const std::uint64_t start : {0x1000U, 0x1010U, 0x1020U}) whole.add(leaf(start, 5));
  first.add(leaf(0x1000, 5));
  second.add(leaf(0x1010, 5));
  second.add(leaf(0x1020, 5));
  first.append(std::move(second));
  EXPECT_EQ(first.encode(0x3000), whole.encode(0x3000));
  EXPECT_EQ(first.fre_count(), 3U);
  first.add(leaf(0x1030, 5));
  whole.add(leaf(0x1030, 5));
  const std::vector<std::size_t> order{2, 3, 0, 1};
  EXPECT_EQ(first.encode_for_object(order), whole.encode_for_object(order));
  EXPECT_EQ(joined(first.release(0x3000)), whole.encode(0x3000));
}

// More rows than one chunk holds, in one function and in many.
TEST(SectionEncoder, RowsGoOnInTheNextChunk) {
  SpelledEncoder encoder(amd64_v3);
  std::uint64_t start = 0x1000;
  for (const std::uint32_t rows : {1U, 20'000U, 63U, 64U, 65U, 30'000U, 2U}) {
    sframe::Fde function{start, rows, false, false, PcType::Increment, 0, FdeType::Default, {}};
    for (std::uint32_t i = 0; i < rows; ++i) {
      const RecoveryRules rules{on(7, 8 * static_cast<std::int32_t>(i % 300)), {}, {}, false};
      function.fres.push_back({i, i % 7 == 6 ? std::nullopt : std::optional(rules)});
    }
    encoder.add(function);
    start += rows;
  }
  const std::vector<std::byte> bytes = encoder.encode(0x100);
  EXPECT_EQ(bytes.size(), encoder.encoded_size());
  const sframe::Section section = sframe::decode(bytes, 0x100, {"test", ".sframe"});
  ASSERT_EQ(section.fdes.size(), 7U);
  for (const sframe::Fde& function : section.fdes) {
    ASSERT_EQ(function.fres.size(), function.size);
    for (std::uint32_t i = 0; i < function.size; ++i) {
      ASSERT_EQ(function.fres[i].pc_offset, i);
      ASSERT_EQ(function.fres[i].recovery.has_value(), i % 7 != 6);
      if (i % 7 == 6) continue;
      ASSERT_EQ(function.fres[i].recovery->cfa, on(7, 8 * static_cast<std::int32_t>(i % 300)));
    }
  }
  EXPECT_EQ(joined(encoder.release(0x100)), bytes);
}

/// A function with a row of one word and, at `second`, one of two.
sframe::Fde two_rows(sframe::Abi abi, std::uint32_t size, std::uint32_t second) {
  const sframe::AbiTraits& traits = sframe::traits_of(abi);
  const Rule cfa = on(traits.stack_pointer, 160), saved{std::nullopt, -48, true};
  const bool tracked = traits.tracks_return_address;
  sframe::Fde function{0x1000, size, false, false, PcType::Increment, 0, FdeType::Default, {}};
  function.fres = {{0, RecoveryRules{cfa, {}, {}, false}},
                   {second, RecoveryRules{cfa, tracked ? std::optional(saved) : std::nullopt,
                                          tracked ? std::nullopt : std::optional(saved), false}}};
  return function;
}

/// The bytes of a section at 0x2000 with that function and one byte of code at 0x40000, an entry of a PLT.
std::string section_bytes(sframe::Abi abi, const OutputFormat& format, const sframe::Fde& function) {
  const emit::Dialect dialect = dialect_of(abi, format);
  SpelledEncoder encoder(dialect);
  encoder.add(function);
  sframe::Fde entry = two_rows(abi, 1, 0);
  entry.start = 0x40000;
  entry.fres.resize(1);
  entry.pc_type = PcType::Mask;
  entry.repeat_size = dialect.version->has_repeat_size ? 16 : 0;
  encoder.add(entry);
  const auto bytes = encoder.encode(0x2000);
  EXPECT_EQ(bytes.size(), encoder.encoded_size());
  return hex_bytes(bytes);
}

TEST(SectionEncoderV2, Amd64) {
  EXPECT_EQ(section_bytes(sframe::Abi::Amd64, v2, two_rows(sframe::Abi::Amd64, 7, 1)),
            "e2 de 02 05 03 00 f8 00 02 00 00 00 03 00 00 00 0e 00 00 00 00 00 00 00 28 00 00 00 "
            "e4 ef ff ff 07 00 00 00 00 00 00 00 02 00 00 00 00 00 00 00 "
            "d0 df 03 00 01 00 00 00 0a 00 00 00 01 00 00 00 10 10 00 00 "
            "00 23 a0 00 01 25 a0 00 d0 ff 00 23 a0 00");
}
TEST(SectionEncoderV2, Amd64FromTheSection) {
  EXPECT_EQ(section_bytes(sframe::Abi::Amd64, v2_from_section, two_rows(sframe::Abi::Amd64, 0x100, 1)),
            "e2 de 02 01 03 00 f8 00 02 00 00 00 03 00 00 00 10 00 00 00 00 00 00 00 28 00 00 00 "
            "00 f0 ff ff 00 01 00 00 00 00 00 00 02 00 00 00 01 00 00 00 "
            "00 e0 03 00 01 00 00 00 0c 00 00 00 01 00 00 00 10 10 00 00 "
            "00 00 23 a0 00 01 00 25 a0 00 d0 ff 00 23 a0 00");
}
TEST(SectionEncoderV2, Aarch64WithKeyB) {
  sframe::Fde function = two_rows(sframe::Abi::Aarch64Little, 0x10000, 0x8000);
  function.b_key = true;
  function.fres[1].recovery->mangled_ra = true;
  EXPECT_EQ(section_bytes(sframe::Abi::Aarch64Little, v2, function),
            "e2 de 02 05 02 00 00 00 02 00 00 00 03 00 00 00 14 00 00 00 00 00 00 00 28 00 00 00 "
            "e4 ef ff ff 00 00 01 00 00 00 00 00 02 00 00 00 22 00 00 00 "
            "d0 df 03 00 01 00 00 00 10 00 00 00 01 00 00 00 10 10 00 00 "
            "00 00 00 00 23 a0 00 00 80 00 00 a5 a0 00 d0 ff 00 23 a0 00");
}
TEST(SectionEncoderV2, S390x) {
  EXPECT_EQ(section_bytes(sframe::Abi::S390x, v2, two_rows(sframe::Abi::S390x, 0x100, 0x80)),
            "de e2 02 05 04 00 00 00 00 00 00 02 00 00 00 03 00 00 00 0c 00 00 00 00 00 00 00 28 "
            "ff ff ef e4 00 00 01 00 00 00 00 00 00 00 00 02 01 00 00 00 "
            "00 03 df d0 00 00 00 01 00 00 00 09 00 00 00 01 10 10 00 00 "
            "00 00 03 00 00 80 05 00 d0 00 03 00");
}

TEST(SectionEncoderV1, Amd64) {
  EXPECT_EQ(section_bytes(sframe::Abi::Amd64, v1, two_rows(sframe::Abi::Amd64, 7, 1)),
            "e2 de 01 01 03 00 f8 00 02 00 00 00 03 00 00 00 0e 00 00 00 00 00 00 00 22 00 00 00 "
            "00 f0 ff ff 07 00 00 00 00 00 00 00 02 00 00 00 00 "
            "00 e0 03 00 01 00 00 00 0a 00 00 00 01 00 00 00 10 "
            "00 23 a0 00 01 25 a0 00 d0 ff 00 23 a0 00");
}
TEST(SectionEncoderV1, Aarch64BigEndian) {
  sframe::Fde function = two_rows(sframe::Abi::Aarch64Big, 7, 4);
  function.b_key = true;
  function.fres[1].recovery->mangled_ra = true;
  EXPECT_EQ(section_bytes(sframe::Abi::Aarch64Big, v1, function),
            "de e2 01 01 01 00 00 00 00 00 00 02 00 00 00 03 00 00 00 0e 00 00 00 00 00 00 00 22 "
            "ff ff f0 00 00 00 00 07 00 00 00 00 00 00 00 02 20 "
            "00 03 e0 00 00 00 00 01 00 00 00 0a 00 00 00 01 10 "
            "00 23 00 a0 04 a5 00 a0 ff d0 00 23 00 a0");
}

// 27 bytes of header; starts count from the descriptor; row types count from 1
TEST(SectionEncoderCtfFrame, Amd64) {
  EXPECT_EQ(section_bytes(sframe::Abi::Amd64, ctf_frame, two_rows(sframe::Abi::Amd64, 0x100, 1)),
            "e2 de 01 01 03 00 f8 02 00 00 00 03 00 00 00 10 00 00 00 00 00 00 00 22 00 00 00 "
            "e5 ef ff ff 00 01 00 00 00 00 00 00 02 00 00 00 02 "
            "d4 df 03 00 01 00 00 00 0c 00 00 00 01 00 00 00 11 "
            "00 00 23 a0 00 01 00 25 a0 00 d0 ff 00 23 a0 00");
}
TEST(SectionEncoderCtfFrame, Aarch64BigEndian) {
  sframe::Fde function = two_rows(sframe::Abi::Aarch64Big, 0x10000, 4);
  function.fres[1].recovery = RecoveryRules{on(29, 32), Rule::at_cfa(-24), Rule::at_cfa(-32), false};
  EXPECT_EQ(section_bytes(sframe::Abi::Aarch64Big, ctf_frame, function),
            "de e2 01 01 01 00 00 00 00 00 02 00 00 00 03 00 00 00 13 00 00 00 00 00 00 00 22 "
            "ff ff ef e5 00 01 00 00 00 00 00 00 00 00 00 02 03 "
            "00 03 df d4 00 00 00 01 00 00 00 0f 00 00 00 01 11 "
            "00 00 00 00 23 00 a0 00 00 00 04 06 20 e0 e8 00 23 00 a0");
}

TEST(SectionEncoderV3, Aarch64BigEndian) {
  sframe::Fde function = two_rows(sframe::Abi::Aarch64Big, 0x100, 4);
  function.b_key = true;
  function.signal_frame = true;
  EXPECT_EQ(section_bytes(sframe::Abi::Aarch64Big, v3, function),
            "de e2 03 05 01 00 00 00 00 00 00 02 00 00 00 03 00 00 00 1a 00 00 00 00 00 00 00 20 "
            "ff ff ff ff ff ff ef e4 00 00 01 00 00 00 00 00 "
            "00 00 00 00 00 03 df d4 00 00 00 01 00 00 00 11 "
            "00 02 a1 00 00 00 00 23 00 a0 00 04 25 00 a0 ff d0 00 01 10 00 10 00 23 00 a0");
}
TEST(SectionEncoderV3, S390x) {
  EXPECT_EQ(section_bytes(sframe::Abi::S390x, v3, two_rows(sframe::Abi::S390x, 7, 4)),
            "de e2 03 05 04 00 00 00 00 00 00 02 00 00 00 03 00 00 00 14 00 00 00 00 00 00 00 20 "
            "ff ff ff ff ff ff ef e4 00 00 00 07 00 00 00 00 "
            "00 00 00 00 00 03 df d4 00 00 00 01 00 00 00 0c "
            "00 02 00 00 00 00 03 00 04 05 00 d0 00 01 10 00 10 00 03 00");
}

// Starts
std::string failure_of(const OutputFormat& format, std::uint64_t start, std::uint64_t section_address) {
  const emit::Dialect dialect = dialect_of(sframe::Abi::Amd64, format);
  SpelledEncoder encoder(dialect);
  encoder.add(leaf(start, 5));
  try {
    encoder.encode(section_address);
  } catch (const std::range_error& error) {
    return error.what();
  }
  return "reaches";
}

TEST(SectionEncoder, StartsOf64BitsReachHalfOfTheAddressesBothWays) {
  EXPECT_EQ(failure_of(v3, 0x7fffffff00000000, 0x1000), "reaches");
  EXPECT_EQ(failure_of(v3, 0x1000, 0x7fffffff80000000), "reaches");
  EXPECT_EQ(failure_of(v3, 0xffffffff80000000, 0x80000000),
            "function at 0xffffffff80000000 is further from 0x8000001c than 63 bits reach");
  EXPECT_EQ(failure_of(v3, 0x1000, 0xffffffff80000000),
            "function at 0x1000 is further from 0xffffffff8000001c than 63 bits reach");
}
TEST(SectionEncoder, StartsOf32BitsReach2GiBAndNoByteMore) {
  EXPECT_EQ(failure_of(v1, 0x1000, 0x80001000), "reaches");
  EXPECT_EQ(failure_of(v2, 0x1000, 0x80001000 - 28), "reaches");
  EXPECT_EQ(failure_of(ctf_frame, 0x1000, 0x80001000 - 27), "reaches");
  EXPECT_EQ(failure_of(v1, 0x80000fff, 0x1000), "reaches");
  EXPECT_EQ(failure_of(v1, 0x1000, 0x80001001),
            "function at 0x1000 is further from 0x80001001 than the 32-bit starts of SFrame version 1 reach; use "
            "--sframe-version=3");
  EXPECT_EQ(failure_of(v2, 0x1000, 0x80001001 - 28),
            "function at 0x1000 is further from 0x80001001 than the 32-bit starts of SFrame version 2 reach; use "
            "--sframe-version=3");
  EXPECT_EQ(failure_of(v2_from_section, 0x80001000, 0x1000),
            "function at 0x80001000 is further from 0x1000 than the 32-bit starts of SFrame version 2 reach; use "
            "--sframe-version=3");
  EXPECT_EQ(failure_of(ctf_frame, 0x1000, 0x80001001 - 27),
            "function at 0x1000 is further from 0x80001001 than the 32-bit starts of CTF Frame reach; use "
            "--sframe-version=3");
}

std::vector<std::uint32_t> sizes_of(const emit::SectionEncoder& encoder) {
  std::vector<std::uint32_t> sizes;
  for (const auto& entry : encoder.descriptors()) sizes.push_back(entry.size);
  return sizes;
}

emit::IsPadding all_is_padding() {
  return [](std::uint64_t, std::uint64_t) { return true; };
}

TEST(SectionEncoder, CoversPaddingButForItsLastByte) {
  SpelledEncoder encoder(amd64_v3);
  for (const std::uint64_t start : {0x1000U, 0x1010U, 0x1020U, 0x1025U, 0x1030U}) encoder.add(leaf(start, 5));
  const auto before = encoder.encode(0x2000);
  encoder.extend_over_padding([] {
    return [](std::uint64_t begin, std::uint64_t end) {
      EXPECT_LT(begin, end);
      return begin != 0x1015;
    };
  });
  EXPECT_EQ(sizes_of(encoder), (std::vector<std::uint32_t>{0xf, 5, 5, 0xa, 5}));
  // Nothing but the two sizes.
  const auto after = encoder.encode(0x2000);
  ASSERT_EQ(after.size(), before.size());
  int differences = 0;
  for (std::size_t i = 0; i < before.size(); ++i) differences += static_cast<int>(before[i] != after[i]);
  EXPECT_EQ(differences, 2);
}

// The width of row starts follows from the code's own size, as in GNU as.
TEST(SectionEncoder, CoveringKeepsTheWidthOfRowStarts) {
  SpelledEncoder encoder(amd64_v3);
  encoder.add(leaf(0x1000, 0xff));
  encoder.add(leaf(0x1100, 5));
  encoder.extend_over_padding(all_is_padding);
  EXPECT_EQ(sizes_of(encoder), (std::vector<std::uint32_t>{0x100, 5}));
  EXPECT_EQ(encoder.descriptors()[0].info.fre_type(), 0U);
}

TEST(SectionEncoder, NeitherRepeatingCodeNorSignalFramesCoverPadding) {
  SpelledEncoder encoder(amd64_v3);
  sframe::Fde plt = leaf(0x1000, 0x10), signal = leaf(0x1020, 9);
  plt.pc_type = PcType::Mask;
  plt.repeat_size = 16;
  signal.signal_frame = true;
  encoder.add(plt);
  encoder.add(signal);
  encoder.add(leaf(0x1030, 5));
  encoder.extend_over_padding(all_is_padding);
  EXPECT_EQ(sizes_of(encoder), (std::vector<std::uint32_t>{0x10, 9, 5}));
}

TEST(SectionEncoder, CoveringNothing) {
  SpelledEncoder encoder(amd64_v3);
  encoder.extend_over_padding(all_is_padding);
  EXPECT_EQ(encoder.fde_count(), 0U);
}

TEST(SectionEncoder, FunctionsWithoutRows) {
  SpelledEncoder encoder(amd64_v3);
  encoder.add(leaf(0x1000, 5));
  encoder.add(leaf(0x3000, 5));
  const std::uint64_t size = encoder.encoded_size();
  encoder.add_without_rows(std::vector<std::uint64_t>{0x2000});
  EXPECT_EQ(encoder.encoded_size(), size + 21);
  const sframe::Section section = sframe::decode(encoder.encode(0x8000), 0x8000, {"test", ".sframe"});
  ASSERT_EQ(section.fdes.size(), 3U);
  EXPECT_EQ(section.fdes[1].start, 0x2000U);
  EXPECT_EQ(section.fdes[1].size, 0U);
  EXPECT_TRUE(section.fdes[1].fres.empty());
  EXPECT_EQ(section.fdes[2].fres, section.fdes[0].fres);
}

}  // namespace
}  // namespace sframe_gen::test
