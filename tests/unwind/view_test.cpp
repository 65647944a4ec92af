// The view reads what the decoder reads, and refuses what it refuses.

#include "sframe_gen/view.hpp"

#include <gtest/gtest.h>
#include <link.h>
#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <span>

#include "elf/image.hpp"
#include "emit/dialects.hpp"
#include "sframe/good_section.hpp"
#include "sframe/good_versions.hpp"
#include "sframe_gen/convert.hpp"
#include "sframe_gen/encode.hpp"
#include "support/endian.hpp"
#include "support/mapped_file.hpp"
#include "support/places.hpp"
#include "support/sanitized.hpp"
#include "unwind/agreement.hpp"
#include "unwind/random_sections.hpp"

namespace sframe_gen::unwind::test {
namespace {

namespace fs = std::filesystem;
using sframe::Family;
using sframe::Lookup;
using sframe::SectionView;

struct Sample {
  std::string name;
  std::vector<std::byte> bytes;
  std::uint64_t address;
  Family family = Family::SFrame;
};

/// The sections of tests/sframe.
std::vector<Sample> samples() {
  std::vector<Sample> made{{"good", sframe::test::good_section(), sframe::test::good_address}};
  for (const char* name : {"default", "flexible", "stubs"}) {
    made.push_back({name, sframe::test::golden_section(name), sframe::test::golden_address});
  }
  for (const char* name : sframe::test::good_versions) {
    made.push_back({name, sframe::test::good_version(name), sframe::test::good_address, sframe::test::family_of(name)});
  }
  return made;
}

TEST(SectionView, ReadsTheGoldenSections) {
  for (const Sample& sample : samples()) {
    SCOPED_TRACE(sample.name);
    EXPECT_GT(expect_same_reading(sample.bytes, sample.address, sample.family), 20U);
  }
}

/// Every section of GNU's and ours in the corpus.
TEST(SectionView, ReadsTheCorpus) {
  std::uint64_t sections = 0, checked = 0;
  for (const auto& entry : fs::recursive_directory_iterator(sframe_gen::test::source_folder() + "/corpus")) {
    if (entry.path().filename() != "gnu.elf") continue;
    SCOPED_TRACE(entry.path().string());
    const elf::Image image = elf::Image::open(entry.path());
    const elf::Section* const section = image.find_section(".sframe");
    if (section == nullptr) continue;
    ++sections;
    checked += expect_same_reading(image.bytes_of(*section), section->header.sh_addr, Family::SFrame);
  }
  EXPECT_GT(sections, 100U);
  EXPECT_GT(checked, 2000U);
}

/// Sections of this program and of the libraries it has loaded, as the library makes them in each version.
TEST(SectionView, ReadsTheSectionsOfRealFiles) {
  std::vector<std::string> files{"/proc/self/exe"};
  const auto add = [](dl_phdr_info* info, std::size_t, void* data) {
    const std::string name = info->dlpi_name;
    if (name.starts_with('/')) static_cast<std::vector<std::string>*>(data)->push_back(name);
    return 0;
  };
  ::dl_iterate_phdr(add, &files);
  std::uint64_t checked = 0;
  for (const OutputFormat& format :
       {sframe_gen::test::v3_flexible, sframe_gen::test::v2, sframe_gen::test::v2_from_section, sframe_gen::test::v1,
        sframe_gen::test::ctf_frame}) {
    for (const std::string& file : files) {
      SCOPED_TRACE(file);
      const MappedFile mapped(file);
      constexpr std::uint64_t address = 0x40000000;
      ConvertOptions options;
      options.format = format;
      const TranslateOutcome made = translate(mapped.bytes(), file, address, options);
      const Family family = format.version == sframe::Version::CtfFrame ? Family::CtfFrame : Family::SFrame;
      checked += expect_row_starts_agree(made.bytes, made.address, family);
    }
  }
  EXPECT_GT(files.size(), 4U);
  EXPECT_GT(checked, 500000U);
}

/// Each bit of each section flipped, and each byte saturated: both take it or neither, and where they do they agree.
/// With sanitizers, which take ten times as long, every third of these: three or four of each byte.
TEST(SectionView, AgreesOnDamagedSections) {
  const std::size_t step = sframe_gen::test::is_sanitized ? 3 : 1;
  std::uint64_t taken = 0, refused = 0;
  for (const Sample& sample : samples()) {
    for (std::size_t bit = 0; bit < sample.bytes.size() * 10; bit += step) {
      SCOPED_TRACE(sample.name + " bit " + std::to_string(bit));
      // At its exact size, so that AddressSanitizer sees a read past the end.
      std::vector<std::byte> bytes(sample.bytes.begin(), sample.bytes.end());
      const std::size_t flipped = bit % 10;
      std::byte& byte = bytes[bit / 10];
      byte = flipped == 8   ? std::byte{0}
             : flipped == 9 ? std::byte{0xff}
                            : byte ^ std::byte{1} << static_cast<int>(flipped);
      ++(expect_same_reading(bytes, sample.address, sample.family) != 0 ? taken : refused);
    }
  }
  EXPECT_GT(taken, 1000U);
  EXPECT_GT(refused, 1000U);
}

TEST(SectionView, RefusesEveryCut) {
  for (const Sample& sample : samples()) {
    auto good = sample.bytes;
    while (!good.empty() && good.back() == std::byte{0}) good.pop_back();
    for (std::size_t size = 0; size + 1 < good.size(); ++size) {
      const std::vector<std::byte> bytes(good.begin(), good.begin() + static_cast<std::ptrdiff_t>(size));
      SectionView view;
      EXPECT_TRUE(view.open(bytes, sample.address, sample.family)) << sample.name << " cut to " << size;
      EXPECT_FALSE(view.is_open());
      EXPECT_TRUE(view.lookup(sample.address).kind == Lookup::Kind::Nothing);
    }
  }
}

/// With its header alone believed, a damaged section may be wrong, but leads nowhere.
TEST(SectionView, StaysInsideWithoutTheCheck) {
  std::uint64_t damaged = 0;
  for (const Sample& sample : samples()) {
    for (std::size_t i = 0; i < sample.bytes.size(); ++i) {
      for (const std::byte value : {std::byte{0}, std::byte{0x7f}, std::byte{0x80}, std::byte{0xff}}) {
        std::vector<std::byte> bytes(sample.bytes.begin(), sample.bytes.end());
        bytes[i] = value;
        SectionView view;
        if (view.open(bytes, sample.address, sample.family, sframe::ViewCheck::Header)) continue;
        for (std::uint64_t pc = 0; pc < 0x2100; pc += 3) damaged += view.lookup(pc).kind == Lookup::Kind::Damaged;
        std::uint64_t end = 0;
        for (std::uint64_t pc = 0; pc < 0x2100; pc = end)
          damaged += view.lookup_stretch(pc, end).kind == Lookup::Kind::Damaged;
        std::vector<sframe::PageSlot> slots(std::min<std::uint64_t>(view.page_slots(256), 64));
        view.use_pages(slots);
        for (std::uint64_t pc = 0; pc < 0x2100; pc += 3) damaged += view.lookup(pc).kind == Lookup::Kind::Damaged;
      }
    }
  }
  EXPECT_GT(damaged, 100U);
}

class EachDialect : public testing::TestWithParam<std::pair<sframe::Abi, OutputFormat>> {};

TEST_P(EachDialect, ReadsWhatTheEncoderWrites) {
  const emit::Dialect dialect = sframe_gen::test::dialect_of(GetParam().first, GetParam().second);
  const Family family = dialect.version->version == sframe::Version::CtfFrame ? Family::CtfFrame : Family::SFrame;
  for (unsigned seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE(seed);
    RandomSections random(dialect, seed);
    const auto bytes = random.section(0x400000, seed % 2 == 0 ? 0x1000 : 0x500000);
    EXPECT_GT(expect_same_reading(bytes, 0x400000, family), 3U);
  }
}

TEST_P(EachDialect, ScansAnUnsortedIndex) {
  const emit::Dialect dialect = sframe_gen::test::dialect_of(GetParam().first, GetParam().second);
  const Family family = dialect.version->version == sframe::Version::CtfFrame ? Family::CtfFrame : Family::SFrame;
  for (unsigned seed = 100; seed < 110; ++seed) {
    RandomSections random(dialect, seed);
    auto bytes = random.section(0x400000, 0x1000);
    bytes[3] &= ~std::byte{1};
    EXPECT_GT(expect_same_reading(bytes, 0x400000, family), 3U);
  }
}

INSTANTIATE_TEST_SUITE_P(SectionView, EachDialect,
                         testing::Values(std::pair(sframe::Abi::Amd64, sframe_gen::test::v3_flexible),
                                         std::pair(sframe::Abi::Aarch64Little, sframe_gen::test::v3_flexible),
                                         std::pair(sframe::Abi::Aarch64Big, sframe_gen::test::v3_flexible),
                                         std::pair(sframe::Abi::S390x, sframe_gen::test::v3_flexible),
                                         std::pair(sframe::Abi::Amd64, sframe_gen::test::v2),
                                         std::pair(sframe::Abi::Amd64, sframe_gen::test::v2_from_section),
                                         std::pair(sframe::Abi::Aarch64Little, sframe_gen::test::v2),
                                         std::pair(sframe::Abi::Aarch64Big, sframe_gen::test::v2_from_section),
                                         std::pair(sframe::Abi::S390x, sframe_gen::test::v2),
                                         std::pair(sframe::Abi::Amd64, sframe_gen::test::v1),
                                         std::pair(sframe::Abi::Aarch64Little, sframe_gen::test::v1),
                                         std::pair(sframe::Abi::Aarch64Big, sframe_gen::test::v1),
                                         std::pair(sframe::Abi::Amd64, sframe_gen::test::ctf_frame),
                                         std::pair(sframe::Abi::Aarch64Little, sframe_gen::test::ctf_frame),
                                         std::pair(sframe::Abi::Aarch64Big, sframe_gen::test::ctf_frame)));

/// Functions of 16 bytes at 0x1000 and 0x1010; the second has the first one's rows, or none.
std::vector<std::byte> two_functions(const std::string& second_rows, const std::string& row_count) {
  return sframe::test::bytes_of("e2 de 03 05  03 00 f8 00  02 00 00 00  " + row_count +
                                " 00 00 00  0d 00 00 00  00 00 00 00  20 00 00 00\n"
                                "e4 ef ff ff ff ff ff ff  10 00 00 00  00 00 00 00\n"
                                "e4 ef ff ff ff ff ff ff  10 00 00 00  " +
                                second_rows + " 00 00 00\n" + "01 00 00 00 00  00 03 08\n" + "00 00 00 00 00\n");
}

TEST(SectionView, SharesABlockOfRows) {
  const auto bytes = two_functions("00", "02");
  EXPECT_GT(expect_same_reading(bytes, 0x2000, Family::SFrame), 30U);
  SectionView view;
  ASSERT_FALSE(view.open(bytes, 0x2000));
  for (const std::uint64_t pc : {0x1000U, 0x1010U}) {
    const Lookup found = view.lookup(pc);
    EXPECT_TRUE(found.kind == Lookup::Kind::Row);
    EXPECT_EQ(found.row.cfa, sframe::Rule::register_plus(7, 8));
    EXPECT_EQ(found.function_start, pc);
  }
}

TEST(SectionView, TellsWhatItsHeaderSays) {
  const auto bytes = sframe::test::good_version("v1_aarch64_be");
  const sframe::Section section = sframe::decode(bytes, sframe::test::good_address, {"a.out", ".sframe"});
  SectionView view;
  ASSERT_FALSE(view.open(bytes, sframe::test::good_address));
  EXPECT_EQ(view.version(), sframe::Version::V1);
  EXPECT_EQ(view.endian(), Endian::Big);
  EXPECT_EQ(view.flags(), section.flags);
  EXPECT_EQ(view.function_count(), section.fdes.size());
}

/// DecoderS390x has the same section: the decoder throws, the view stops.
TEST(SectionView, StopsAtARegisterWordThatNamesNone) {
  auto bytes = sframe::test::good_version("v2_s390x");
  const std::array<std::byte, 2> registers{std::byte{0x21}, std::byte{0x23}};  // RA in f0, FP in f2
  const auto place = std::search(bytes.begin(), bytes.end(), registers.begin(), registers.end());
  ASSERT_NE(place, bytes.end());
  *place |= std::byte{0x80};
  SectionView view;
  EXPECT_EQ(view.open(bytes, sframe::test::good_address).problem, sframe::Problem::OddOffset);
}

TEST(SectionView, StopsAtAFunctionWithMoreRowsThanTheHeaderCounts) {
  auto bytes = sframe::test::good_section();
  bytes[0x0c] = std::byte{5};  // they have 10, the first two 6
  SectionView view;
  EXPECT_EQ(view.open(bytes, sframe::test::good_address).problem, sframe::Problem::MoreRows);
}

TEST(SectionView, TellsAnOutermostFunctionWithoutRows) {
  const auto bytes = two_functions("08", "01");
  EXPECT_GT(expect_same_reading(bytes, 0x2000, Family::SFrame), 30U);
  SectionView view;
  ASSERT_FALSE(view.open(bytes, 0x2000));
  EXPECT_TRUE(view.lookup(0x1000).kind == Lookup::Kind::Row);
  EXPECT_TRUE(view.lookup(0x1010).kind == Lookup::Kind::Outermost);
  EXPECT_TRUE(view.lookup(0x1020).kind == Lookup::Kind::Nothing);
}

TEST(SectionView, SaysNothingOfAFunctionBeforeItsFirstRow) {
  sframe::Section section;
  section.address = 0x2000;
  sframe::Fde function;
  function.start = 0x1000;
  function.size = 0x20;
  function.add_row(0, {.cfa = sframe::Rule::register_plus(7, 8)});
  section.fdes.push_back(function);
  std::vector<std::byte> bytes = sframe::encode(section);
  bytes[bytes.size() - 3] = std::byte{4};  // the row's start, before its information and the CFA's offset
  SectionView view;
  ASSERT_FALSE(view.open(bytes, 0x2000));
  EXPECT_TRUE(view.lookup(0x1004).kind == Lookup::Kind::Row);
  const Lookup found = view.lookup(0x1003);
  EXPECT_TRUE(found.kind == Lookup::Kind::Nothing);
  EXPECT_EQ(found.function_start, 0U);
  EXPECT_EQ(found.function_size, 0U);
}

/// The end of the code is not where the last descriptor says.
TEST(SectionView, FindsWhatIsBehindAFunctionOfNoBytes) {
  auto bytes = two_functions("00", "02");
  bytes[44] = std::byte{0xdc};  // starts at 0x1008, inside the first one
  bytes[52] = std::byte{0};     // its size
  EXPECT_GT(expect_same_reading(bytes, 0x2000, Family::SFrame), 30U);
  SectionView view;
  ASSERT_FALSE(view.open(bytes, 0x2000));
  sframe::PageSlot slots[1];
  view.use_pages(slots);
  EXPECT_TRUE(view.lookup(0x100f).kind == Lookup::Kind::Row);
}

TEST(SectionView, CountsThePagesOfSortedFunctions) {
  auto bytes = two_functions("00", "02");
  SectionView view;
  EXPECT_EQ(view.page_slots(512), 0U);
  ASSERT_FALSE(view.open(bytes, 0x2000));
  EXPECT_EQ(view.page_slots(512), 1U);  // one page, and what ends it
  EXPECT_EQ(view.page_slots(16), 2U);   // two
  EXPECT_EQ(view.page_slots(8), 3U);
  bytes[3] &= ~std::byte{1};
  ASSERT_FALSE(view.open(bytes, 0x2000));
  EXPECT_EQ(view.page_slots(512), 0U);
  sframe::PageSlot slots[2];
  view.use_pages(slots);  // of no use, and no harm
  EXPECT_TRUE(view.lookup(0x1010).kind == Lookup::Kind::Row);
}

/// Version 3, AMD64: two functions of 16 bytes, `distance` from each other, the first at 0x1000. CFA = SP + 8.
std::vector<std::byte> two_distant_functions(std::uint64_t distance) {
  auto bytes = sframe::test::bytes_of(
      "e2 de 03 05  03 00 f8 00  02 00 00 00  02 00 00 00  10 00 00 00  00 00 00 00  20 00 00 00\n"
      "e4 ef ff ff ff ff ff ff  10 00 00 00  00 00 00 00\n"
      "00 00 00 00 00 00 00 00  10 00 00 00  08 00 00 00\n"
      "01 00 00 00 00  00 03 08\n"
      "01 00 00 00 00  00 03 08\n");
  store<std::uint64_t>(std::span(bytes).subspan(44), 0x1000 + distance - (0x2000 + 44), Endian::Little);
  return bytes;
}

/// Two functions may be as far apart as addresses reach, and that costs no bytes of the section.
TEST(SectionView, ATableIsNotMuchLargerThanItsSection) {
  for (const unsigned bits : {10U, 20U, 30U, 36U, 40U, 47U}) {
    SCOPED_TRACE(bits);
    const auto bytes = two_distant_functions(std::uint64_t{1} << bits);
    SectionView view;
    ASSERT_EQ(sframe::text_of(view.open(bytes, 0x2000).problem), std::string("sound"));
    for (const std::uint64_t page_size : {1U, 256U, 512U, 4096U}) {
      ASSERT_LE(view.page_slots(page_size) * sizeof(sframe::PageSlot), bytes.size() + 1024);
    }
    std::vector<sframe::PageSlot> slots(std::max<std::uint64_t>(view.page_slots(), 4096));
    view.use_pages(slots);
    const std::uint64_t second = 0x1000 + (std::uint64_t{1} << bits);
    for (const std::uint64_t start : {std::uint64_t{0x1000}, second}) {
      EXPECT_TRUE(view.lookup(start - 1).kind == Lookup::Kind::Nothing);
      EXPECT_EQ(view.lookup(start).function_start, start);
      EXPECT_TRUE(view.lookup(start + 15).kind == Lookup::Kind::Row);
      EXPECT_TRUE(view.lookup(start + 16).kind == Lookup::Kind::Nothing);
    }
  }
}

/// A row for every other byte of a function of 10,000, CFA = SP + 8 and + 16 by turns.
std::vector<std::byte> many_rows() {
  auto bytes = sframe::test::bytes_of(
      "e2 de 03 05  03 00 f8 00  01 00 00 00  88 13 00 00  25 4e 00 00  00 00 00 00  10 00 00 00\n"
      "e4 ef ff ff ff ff ff ff  10 27 00 00  00 00 00 00\n"
      "88 13 01 00 00\n");
  for (unsigned i = 0; i < 5000; ++i) {
    for (const unsigned byte : {2 * i & 0xffU, 2 * i >> 8U, 3U, i % 2 == 0 ? 8U : 16U})
      bytes.push_back(std::byte(byte));
  }
  return bytes;
}

/// A page's row is named by its number up to 4,095.
TEST(SectionView, FindsRowsThatNoPageCanName) {
  const auto bytes = many_rows();
  SectionView view;
  ASSERT_FALSE(view.open(bytes, 0x2000));
  std::vector<sframe::PageSlot> slots(view.page_slots(256));
  view.use_pages(slots);
  for (unsigned i = 0; i < 10000; ++i) {
    const Lookup found = view.lookup(0x1000 + i);
    ASSERT_TRUE(found.kind == Lookup::Kind::Row) << i;
    ASSERT_EQ(found.row_number, i / 2);
    ASSERT_EQ(found.row.cfa, sframe::Rule::register_plus(7, i / 2 % 2 == 0 ? 8 : 16)) << i;
  }
}

/// Memory that is never touched costs nothing.
TEST(SectionView, MakesNoPagesOfMoreRowsThanTheyCanName) {
  constexpr std::size_t row_bytes = std::size_t{1} << 28U, size = 28 + 16 + row_bytes;
  void* const memory =
      ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  ASSERT_NE(memory, MAP_FAILED);
  const std::span bytes(static_cast<std::byte*>(memory), size);
  const auto begin = many_rows();
  std::ranges::copy(std::span(begin).first(28 + 16), bytes.begin());
  for (const auto& [claimed, slots] : {std::pair(row_bytes, 0U), std::pair(row_bytes - 1, 11U)}) {
    for (unsigned i = 0; i < 4; ++i) bytes[16 + i] = std::byte(claimed >> 8 * i & 0xff);
    SectionView view;
    ASSERT_FALSE(view.open(bytes, 0x2000, Family::SFrame, sframe::ViewCheck::Header));
    EXPECT_EQ(view.page_slots(512), slots);
  }
  ::munmap(memory, size);
}

TEST(SectionView, NamesEachProblem) {
  for (int problem = 0; problem <= static_cast<int>(sframe::Problem::EndsInPadding); ++problem) {
    EXPECT_STRNE(sframe::text_of(static_cast<sframe::Problem>(problem)), "");
  }
}

}  // namespace
}  // namespace sframe_gen::unwind::test
