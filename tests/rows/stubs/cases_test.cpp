// Each case of corpus/stubs: what is made of it stands beside its disassembly in a golden listing, and following the
// instructions gives the same in every version. SFRAME_GEN_UPDATE_GOLDEN=1 rewrites the rows of the listings.

#include "rows/stubs/cases.hpp"

#include <gtest/gtest.h>

#include <array>
#include <span>

#include "encode/encode_functions.hpp"
#include "sframe_gen/find_rows.hpp"
#include "sframe_gen/section.hpp"
#include "support/endian.hpp"
#include "support/text.hpp"
#include "verify/caller.hpp"
#include "verify/emulation.hpp"
#include "verify/verify.hpp"

namespace sframe_gen::rows::stubs::test {
namespace {

constexpr std::uint64_t section_address = 0x1000000;

/// Also of a file in which nothing leads to call frame information.
sframe::Section section_of(const elf::Image& image, sframe::Version version) {
  OutputFormat format;
  format.version = version;
  ConvertOptions options;
  options.format = format;
  const cfi::FrameSource source(image, image);
  const encode::EncodedFunctions encoded =
      encode::encode_functions(source, encode::stubs_for(image, options), encode::dialect_for(image, format), nullptr);
  const auto family = version == sframe::Version::CtfFrame ? sframe::Family::CtfFrame : sframe::Family::SFrame;
  return sframe::decode(encoded.encoder.encode(section_address), section_address, {"case", ".sframe"},
                        {.allow_fre_at_end = false}, family);
}

std::string row_at(const sframe::Section& section, std::uint64_t pc) {
  const sframe::Fde* const fde = sframe::find_fde(section, pc);
  const sframe::Fre* const fre = fde == nullptr ? nullptr : sframe::find_fre(*fde, pc - fde->start);
  return fre == nullptr ? "no row" : verify::sframe_caller(fre->recovery, *fde, section, pc).text;
}

/// The descriptors that hold code of the listing.
std::string descriptors_of(const sframe::Section& section, const std::vector<Line>& lines) {
  std::string text;
  for (const sframe::Fde& fde : section.fdes) {
    const bool listed = std::ranges::any_of(lines, [&](const Line& line) {
      return line.size != 0 && line.address >= fde.start && line.address < fde.start + fde.size;
    });
    if (!listed) continue;
    text += "descriptor " + hex(fde.start) + ": " + std::to_string(fde.size) + " bytes, " +
            count_of(fde.fres.size(), "row");
    if (fde.pc_type == sframe::PcType::Mask) text += ", again each " + std::to_string(fde.repeat_size) + " bytes";
    text += '\n';
  }
  return text;
}

class Cases : public testing::TestWithParam<std::string> {
 protected:
  const elf::Image image_ = elf::Image::open(folder / (GetParam() + ".elf"));
};

TEST_P(Cases, MatchTheirListing) {
  const sframe::Section section = section_of(image_, sframe::Version::V3);
  const std::vector<Line> lines = read_listing(GetParam());
  std::string text;
  for (const Line& line : lines) {
    if (line.size == 0) {
      text += line.heading + '\n';
      if (&line == &lines.front()) text += descriptors_of(section, lines);
      continue;
    }
    text += line.code + " | " + row_at(section, line.address) + '\n';
    // Nothing changes within an instruction.
    EXPECT_EQ(row_at(section, line.address), row_at(section, line.address + line.size - 1)) << line.code;
  }
  const std::filesystem::path golden = folder / (GetParam() + ".txt");
  if (std::getenv("SFRAME_GEN_UPDATE_GOLDEN") != nullptr) std::ofstream(golden) << text;
  std::ifstream stream(golden);
  std::ostringstream expected;
  expected << stream.rdbuf();
  EXPECT_EQ(text, expected.str()) << "SFRAME_GEN_UPDATE_GOLDEN=1 rewrites " << golden;
}

TEST_P(Cases, AreWhatFollowingTheInstructionsGives) {
  constexpr std::array versions{sframe::Version::V3, sframe::Version::V2, sframe::Version::V1,
                                sframe::Version::CtfFrame};
  for (const sframe::Version version : versions) {
    const bool known = GetParam().starts_with("s390x") ? version >= sframe::Version::V2 : true;
    if (!known) continue;
    const Verification result = verify::verify(section_of(image_, version), image_, image_, {});
    EXPECT_EQ(result.difference_count, 0U) << sframe::name_of(version);
    for (const Verification::Difference& difference : result.differences) ADD_FAILURE() << text_of(difference);
    EXPECT_GT(result.checked_pcs, 0U);
  }
}

/// As verify() does where there is call frame information as well.
void follow(const elf::Image& image, const sframe::Section& section) {
  const StubList stubs = find_stubs(image);
  std::vector<Range> ranges;
  for (const StubRun& run : stubs.runs)
    if (run.start != image.header().e_entry) ranges.push_back({run.start, run.end()});
  const verify::Emulation emulation(image, sframe::traits_of(section.abi),
                                    RangeSet(std::move(ranges), verify::largest_gap_in_stubs).ranges());
  for (const sframe::Fde& fde : section.fdes) {
    if (!knows(stubs, fde.start)) continue;
    for (std::uint64_t pc = fde.start; pc < fde.start + fde.size; pc = emulation.boundary_after(pc)) {
      const sframe::Fre* const fre = sframe::find_fre(fde, pc - fde.start);
      ASSERT_NE(fre, nullptr);
      if (emulation.knowledge_of(pc) != verify::Emulation::Knowledge::State) continue;
      const verify::Caller said = verify::sframe_caller(fre->recovery, fde, section, pc);
      EXPECT_TRUE(verify::same_caller(emulation.caller_at(pc), said)) << hex(pc) << ": " << said.text;
    }
    EXPECT_NE(emulation.knowledge_of(fde.start), verify::Emulation::Knowledge::None) << hex(fde.start);
  }
}

/// Gives each CIE of .eh_frame a version that does not exist, so that no FDE can be read. Returns false without one.
bool make_fdes_unreadable(std::vector<std::byte>& bytes, const elf::Image& image) {
  const elf::Section* const frames = image.find_section(".eh_frame");
  if (frames == nullptr || frames->header.sh_type == SHT_NOBITS) return false;
  const std::uint64_t begin = frames->header.sh_offset, end = begin + frames->header.sh_size;
  constexpr std::size_t id_at = 4, version_at = 8;
  for (std::uint64_t at = begin; at + version_at < end;) {
    const std::span<const std::byte> record = std::span(bytes).subspan(at);
    const auto length = load<std::uint32_t>(record, image.endian());
    if (length == 0) break;
    if (load<std::uint32_t>(record.subspan(id_at), image.endian()) == 0) bytes[at + version_at] = std::byte{9};
    at += id_at + length;
  }
  return true;
}

/// Whatever unknown code has pushed, it may go on into the stub after it. Nothing says then what that stub's row is.
TEST_P(Cases, LeaveOutWhatUnknownCodeMayGoOnInto) {
  std::vector<std::byte> bytes = read_case(GetParam());
  if (!make_fdes_unreadable(bytes, image_)) return;
  for (const rows::stubs::StubRun& run : find_stubs(image_).runs) {
    if (run.entries < 2) continue;
    const std::uint64_t size = run.size / run.entries;
    const std::uint64_t offset = elf::offset_of(image_, elf::loaded_bytes(image_, run.start, size));
    std::vector<std::byte> damaged = bytes;
    std::ranges::fill(std::span(damaged).subspan(offset, size), std::byte{6});
    const elf::Image image = elf::Image::of_bytes(damaged, "case");
    EXPECT_FALSE(knows(find_stubs(image), run.start + size));
    const Verification result = verify::verify(section_of(image, sframe::Version::V3), image, image, {});
    for (const Verification::Difference& difference : result.differences) ADD_FAILURE() << text_of(difference);
  }
}

/// The stubs that calls go through at first are found by PT_DYNAMIC; .plt.got, .iplt and what has no CFI by nothing.
TEST_P(Cases, AreTheSameWithoutSectionHeaders) {
  const std::vector<std::byte> bytes = without_section_headers(read_case(GetParam()));
  const elf::Image image = elf::Image::of_bytes(bytes, "case");
  const sframe::Section whole = section_of(image_, sframe::Version::V3);
  const sframe::Section found = section_of(image, sframe::Version::V3);
  std::uint64_t calls = 0;
  for (const Line& line : read_listing(GetParam())) {
    const std::string row = row_at(found, line.address);
    if (line.size == 0 || row == "no row") continue;
    ++calls;
    EXPECT_EQ(row, row_at(whole, line.address)) << line.code;
  }
  const bool has_calls = image_.find_section(".rela.plt") != nullptr && image_.find_segment(PT_DYNAMIC) != nullptr;
  const bool bound_at_once = GetParam().find("-now") != std::string::npos;
  EXPECT_TRUE(calls > 4 || !has_calls || bound_at_once) << calls;
  follow(image, found);
}

/// Sections that held stubs stand side by side then, .fini and .init for one.
TEST_P(Cases, AreFollowedWhereSectionHeadersAreTakenAwayLater) {
  const std::vector<std::byte> bytes = without_section_headers(read_case(GetParam()));
  const elf::Image image = elf::Image::of_bytes(bytes, "case");
  if (image.find_segment(PT_GNU_EH_FRAME) == nullptr) return;  // refused
  const Verification result = verify::verify(section_of(image_, sframe::Version::V3), image, image, {});
  for (const Verification::Difference& difference : result.differences) ADD_FAILURE() << text_of(difference);
  EXPECT_GT(result.checked_pcs, 0U);
}

/// Code that begins by lowering the stack pointer, as .init does, is not taken for the header of a PLT without calls.
TEST_P(Cases, AreJudgedWhereSectionHeadersAreTakenAwayLater) {
  const std::vector<std::byte> bytes = without_section_headers(read_case(GetParam()));
  const elf::Image image = elf::Image::of_bytes(bytes, "case");
  if (image.find_segment(PT_GNU_EH_FRAME) == nullptr) return;  // refused
  for (const char* const name : {".init", ".fini"}) {
    const elf::Section* const code = image_.find_section(name);
    sframe::Section wrong = section_of(image_, sframe::Version::V3);
    const auto fde =
        std::ranges::find_if(wrong.fdes, [&](const auto& f) { return code && f.start == code->header.sh_addr; });
    if (fde == wrong.fdes.end()) continue;
    for (sframe::Fre& fre : fde->fres) fre.recovery->cfa.offset += 16;
    const Verification result = verify::verify(wrong, image, image, {});
    EXPECT_GE(result.difference_count, fde->fres.size()) << name;
  }
}

/// What stands behind an entry's jump on s390x is no instruction, whatever it looks like: c0 00 begins one of six
/// bytes.
TEST(S390x, NumbersOfSymbolsAreNoInstructions) {
  const std::vector<std::byte> bytes = read_case("s390x-ld-2.40-shared");
  const elf::Image before = elf::Image::of_bytes(bytes, "case");
  const sframe::Section rows = section_of(before, sframe::Version::V3);
  const elf::Section* const plt = before.find_section(".plt");
  ASSERT_NE(plt, nullptr);
  constexpr std::uint64_t entry_size = 32, number_at = 28;
  ASSERT_GE(plt->header.sh_size, 3 * entry_size);
  std::vector<std::byte> changed = bytes;
  const std::byte number[]{{}, {}, std::byte{0xc0}, {}};
  std::ranges::copy(number, &changed[plt->header.sh_offset + entry_size + number_at]);
  const elf::Image image = elf::Image::of_bytes(changed, "case");
  EXPECT_EQ(verify::verify(rows, image, image, {}).difference_count, 0U);
}

INSTANTIATE_TEST_SUITE_P(Stubs, Cases, testing::ValuesIn(case_names()),
                         [](const auto& instance) { return test_name(instance.param); });

TEST(CaseFolder, HoldsAllItsCases) {
  EXPECT_GE(case_names().size(), 90U);
}

}  // namespace
}  // namespace sframe_gen::rows::stubs::test
