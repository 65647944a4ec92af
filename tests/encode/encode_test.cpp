// Sections that a program makes itself: decoded and encoded again, and what cannot be encoded.

#include "sframe_gen/encode.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "elf/image.hpp"
#include "sframe/format.hpp"
#include "sframe/good_section.hpp"
#include "sframe/good_versions.hpp"
#include "sframe/pc_rows.hpp"
#include "support/places.hpp"

namespace sframe_gen::sframe {
namespace {

constexpr std::uint64_t address = 0x8000;

std::vector<PcRow> rows_of(std::span<const std::byte> bytes, std::uint64_t at, Family family = Family::SFrame) {
  return pc_rows(decode(bytes, at, {"test", ".sframe"}, {}, family));
}

/// In its own format, and compact, a section has the same rows again.
void expect_same_rows(const Section& section, Family family) {
  const std::vector<PcRow> rows = pc_rows(section);
  if (rows.empty()) {
    EXPECT_THROW(encode(section), Refused);
    return;
  }
  const std::vector<std::byte> bytes = encode(section);
  EXPECT_EQ(rows_of(bytes, section.address, family), rows);
  const Section again = decode(bytes, section.address, {"test", ".sframe"}, {}, family);
  EXPECT_EQ(again.version, section.version);
  EXPECT_EQ(encode(again), bytes) << "not the same bytes the second time";
  OutputFormat compact = format_of(section);
  compact.compact_rows = 16;
  EXPECT_EQ(rows_of(encode(section, compact), section.address, family), rows);
}

/// Cases whose section, as GNU as writes it, has a row with a register that no machine has.
bool has_impossible_register(const std::filesystem::path& gnu_case) {
  return gnu_case.parent_path().filename().string().starts_with("escape-expression-fp");
}

TEST(Encode, IsTheInverseOfDecodeInTheCorpus) {
  std::size_t sections = 0, refused = 0;
  for (const auto& entry :
       std::filesystem::recursive_directory_iterator(sframe_gen::test::source_folder() + "/corpus")) {
    if (entry.path().filename() != "gnu.elf") continue;
    SCOPED_TRACE(entry.path().string());
    const elf::Image image = elf::Image::open(entry.path());
    const elf::Section* const found = image.find_section(".sframe");
    if (found == nullptr || image.bytes_of(*found).empty() || image.header().e_type == ET_REL) continue;
    Section section;
    try {
      section = decode(image.bytes_of(*found), found->header.sh_addr, {"test", ".sframe"});
    } catch (const MalformedInput&) {
      continue;  // some that GNU as writes
    }
    ++sections;
    if (has_impossible_register(entry.path())) {
      EXPECT_THROW(encode(section), Refused);
      ++refused;
      continue;
    }
    expect_same_rows(section, Family::SFrame);
  }
  EXPECT_GT(sections, 100U);
  EXPECT_GT(refused, 0U);
}

TEST(Encode, IsTheInverseOfDecodeInEachVersion) {
  expect_same_rows(decode(test::good_section(), test::good_address, {"test", ".sframe"}), Family::SFrame);
  for (const char* const name : test::good_versions) {
    SCOPED_TRACE(name);
    const Family family = test::family_of(name);
    expect_same_rows(decode(test::good_version(name), test::good_address, {"test", name}, {}, family), family);
  }
}

Fde function_at(std::uint64_t start, std::uint32_t size) {
  Fde function;
  function.start = start;
  function.size = size;
  return function;
}

/// Functions as a compiler at run time has them: not in order, with rules that the ABI fixes.
Section two_functions() {
  const Rule return_address = Rule::at_cfa(-8);
  Fde first = function_at(0x1000, 32);
  first.add_row(0, {Rule::register_plus(7, 8), return_address, Rule::in_register(6)});
  first.add_row(1, {Rule::register_plus(7, 16), return_address, Rule::at_cfa(-16)});
  Fde second = function_at(0x1020, 16);
  second.fres.push_back({0, std::nullopt});
  Section section;
  section.address = address;
  section.fdes = {second, first};
  return section;
}

TEST(Encode, WritesFunctionsOfACaller) {
  const Section section = two_functions();
  const std::vector<std::byte> bytes = encode(section);
  const Section again = decode(bytes, address, {"test", ".sframe"});
  ASSERT_EQ(again.fdes.size(), 2U);
  EXPECT_EQ(again.flags, flag::sorted | flag::function_start_pc_relative);
  EXPECT_EQ(again.fdes[0].start, 0x1000U);
  ASSERT_EQ(again.fdes[0].fres.size(), 2U);
  EXPECT_EQ(again.fdes[0].fres[0].recovery, RecoveryRules{.cfa = Rule::register_plus(7, 8)});
  EXPECT_EQ(again.fdes[0].fres[1].recovery->frame_pointer, Rule::at_cfa(-16));
  EXPECT_EQ(again.fdes[1].fres[0].recovery, std::nullopt);
}

TEST(Encode, NamesTheRowThatAVersionCannotRepresent) {
  Section section = two_functions();
  const auto reason_in = [&](const OutputFormat& format, std::uint64_t pc) {
    try {
      encode(section, format, "jit");
    } catch (const CannotRepresent& failure) {
      EXPECT_EQ(failure.pc(), pc) << failure.what();
      EXPECT_TRUE(std::string(failure.what()).starts_with("jit: row at 0x")) << failure.what();
      return std::string(key_of(failure.reason()));
    }
    return std::string("none");
  };
  EXPECT_EQ(reason_in({.version = Version::V1}, 0x1020), "return-address-undefined");
  EXPECT_EQ(reason_in(find_reader_target("glibc")->format, 0x1020), "return-address-undefined");
  EXPECT_EQ(reason_in({.version = Version::V2}, 0), "none");
  section.fdes[0].signal_frame = true;
  EXPECT_EQ(reason_in({}, 0), "none");
  EXPECT_EQ(reason_in({.version = Version::V2}, 0x1020), "signal-frame");

  Rule& cfa = section.fdes[1].fres[1].recovery->cfa;
  section.fdes[0].signal_frame = false;
  cfa = {10, 0};
  EXPECT_EQ(reason_in({}, 0), "none");
  EXPECT_EQ(reason_in({.flexible = FlexibleDescriptors::Never}, 0x1001), "cfa-needs-flexible");
  cfa = {std::nullopt, 8};
  EXPECT_EQ(reason_in({}, 0x1001), "cfa-base-is-no-register");
  for (const std::uint32_t number : {16U, 146U, 536870911U, 1U << 30U}) {
    cfa = {number, 8};
    EXPECT_EQ(reason_in({}, 0x1001), "cfa-base-is-no-register") << number;
  }
  cfa = {7, 16};
  section.fdes[1].fres[1].recovery->frame_pointer = Rule::cfa_plus(-16);
  EXPECT_EQ(reason_in({}, 0x1001), "value-is-cfa-plus-offset");
  section.fdes[1].fres[1].recovery->frame_pointer = Rule::in_register(1U << 29U);
  EXPECT_EQ(reason_in({}, 0x1001), "rule-base-is-no-register");
  section.fdes[1].fres[1].recovery->frame_pointer = Rule::at_cfa(0);
  EXPECT_EQ(reason_in({}, 0), "none");
  EXPECT_EQ(reason_in({.version = Version::V2}, 0), "none");
  EXPECT_EQ(reason_in({.flexible = FlexibleDescriptors::Never}, 0x1001), "frame-pointer-needs-flexible");
  section.fdes[1].fres[1].recovery->frame_pointer.reset();
  section.fdes[1].fres[1].recovery->mangled_ra = true;
  EXPECT_EQ(reason_in({}, 0x1001), "signed-return-address");
  EXPECT_NE(sentence_of(Unrepresentable::SignedReturnAddress).find("only AArch64 has"), std::string_view::npos);
}

// Linux takes the word 0 of a default row for "unchanged".
TEST(Encode, SaysInAControlWordThatTheFpIsAtTheCfa) {
  Section section = two_functions();
  section.fdes[1].fres[1].recovery->frame_pointer = Rule::at_cfa(0);
  const auto first_again = [&](const OutputFormat& format) {
    return decode(encode(section, format), address, {"test", ".sframe"}).fdes[0];
  };
  for (const std::uint32_t compact_rows : {0U, 16U}) {
    const Fde again = first_again({.compact_rows = compact_rows});
    EXPECT_EQ(again.type, FdeType::Flexible);
    EXPECT_EQ(again.fres[1].recovery->frame_pointer, Rule::at_cfa(0));
  }
  EXPECT_EQ(first_again({.version = Version::V2}).fres[1].recovery->frame_pointer, Rule::at_cfa(0));
}

TEST(Encode, ReachesBothEndsOfTheAddresses) {
  constexpr std::uint64_t middle = std::uint64_t{1} << 63U;
  const auto start_again = [](std::uint64_t start, std::uint64_t section_address) {
    Section section = two_functions();
    section.fdes = {section.fdes[0]};
    section.fdes[0].start = start;
    section.address = section_address;
    return decode(encode(section), section_address, {"test", ".sframe"}).fdes[0].start;
  };
  EXPECT_EQ(start_again(0x10, middle - 0x1000), 0x10U);
  EXPECT_EQ(start_again(middle - 32, 0), middle - 32);
  EXPECT_EQ(start_again(UINT64_MAX - 16, middle + 0x1000), UINT64_MAX - 16);
}

TEST(Encode, RefusesWhatContradictsItself) {
  const auto message_of = [](const std::function<void(Section&)>& change, const OutputFormat& format = {}) {
    Section section = two_functions();
    change(section);
    try {
      encode(section, format);
    } catch (const Refused& failure) {
      return std::string(failure.what());
    }
    return std::string("no message");
  };
  const auto first = [](Section& section) -> Fde& { return section.fdes[1]; };
  EXPECT_EQ(message_of([](Section& section) { section.fdes[0].start = 0x101f; }),
            "section: function at 0x101f overlaps the function at 0x1000");
  EXPECT_EQ(message_of([&](Section& section) { first(section).fres[1].pc_offset = 0; }),
            "section: function at 0x1000 has rows that do not ascend");
  EXPECT_EQ(message_of([&](Section& section) { first(section).fres[1].pc_offset = 33; }),
            "section: function at 0x1000 has a row after its end");
  EXPECT_EQ(message_of([&](Section& section) { first(section).start = ~std::uint64_t{0} - 30; }),
            "section: function at 0xffffffffffffffe1 passes the last address");
  EXPECT_EQ(message_of([&](Section& section) { first(section).repeat_size = 16; }),
            "section: function at 0x1000 has a repeat size, but does not repeat");
  EXPECT_EQ(message_of([&](Section& section) { first(section).pc_type = PcType::Mask; }),
            "section: function at 0x1000 repeats, but has no repeat size");
  EXPECT_EQ(message_of([&](Section& section) { first(section).b_key = true; }),
            "section: function at 0x1000 has a B key, which only AArch64 has");
  EXPECT_EQ(message_of([](Section& section) { section.fdes.clear(); }), "section: no function has code");
  EXPECT_EQ(message_of([](Section& section) { section.fixed_ra_offset = 8; }),
            "section: fixed RA offset that is not the ABI's");
  EXPECT_EQ(message_of([](Section& section) { section.abi = static_cast<Abi>(9); }), "section: unknown ABI");
  EXPECT_EQ(message_of([](Section& section) { section.version = static_cast<Version>(255); }),
            "section: unknown version");
  EXPECT_EQ(message_of([](Section&) {}, {.version = static_cast<Version>(4)}), "section: unknown version");
  EXPECT_EQ(message_of([&](Section& section) { first(section).pc_type = static_cast<PcType>(7); }),
            "section: function at 0x1000 has an unknown PC type");
  const auto repeats_endlessly = [&](Section& section) {
    section.fdes.erase(section.fdes.begin());
    section.fdes[0] = {0x1000, UINT32_MAX, false, false, PcType::Mask, 1, FdeType::Default, {section.fdes[0].fres[0]}};
  };
  for (const Version version : {Version::V3, Version::V1})
    EXPECT_EQ(message_of(repeats_endlessly, {.version = version}),
              "section: functions repeat their rows more than 1048576 times");
  EXPECT_EQ(message_of([](Section& section) { section.address = 1ULL << 40U; }, {.version = Version::V2}),
            "section: function at 0x1000 is further from 0x1000000001c than the 32-bit starts of SFrame version 2 "
            "reach; use --sframe-version=3");
  // 32 bits would do, if a distance could pass the end of the addresses.
  constexpr std::uint64_t near_end = UINT64_MAX - 0xfff;
  for (const Version version : {Version::V3, Version::V2})
    EXPECT_TRUE(message_of([](Section& section) { section.address = near_end; }, {.version = version})
                    .starts_with("section: function at 0x1000 is further from 0xfffffffffffff0"));
  EXPECT_EQ(message_of([](Section& section) { section.address = UINT64_MAX; }),
            "section: 79 bytes at 0xffffffffffffffff end outside the address space");
  EXPECT_EQ(message_of([](Section& section) { section.address = UINT64_MAX - 40; }, {.compact_rows = 16}),
            "section: 58 bytes at 0xffffffffffffffd7 end outside the address space");
}

}  // namespace
}  // namespace sframe_gen::sframe
