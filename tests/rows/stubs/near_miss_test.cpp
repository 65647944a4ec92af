// Stubs are believed only if every bit is right that says what they do. The listings of the cases, made by objdump, say
// which bits those are: all but the displacements and numbers of some instructions.

#include <gtest/gtest.h>

#include <random>
#include <utility>

#include "elf/image.hpp"
#include "rows/stubs/cases.hpp"

namespace sframe_gen::rows::stubs::test {
namespace {

/// The bits of an instruction that are a displacement or a number, by its disassembly.
std::uint32_t free_bits_of_aarch64(const std::string& mnemonic) {
  if (mnemonic == "adrp") return 0x60ffffe0;
  if (mnemonic == "ldr" || mnemonic == "add") return 0x003ffc00;
  if (mnemonic == "bl") return 0x03ffffff;
  return 0;
}

bool is_free(const std::string& machine, const Line& before, const Line& line, std::uint64_t offset, unsigned bit) {
  if (machine == "aarch64") return ((free_bits_of_aarch64(line.mnemonic) >> (offset * 8 + bit)) & 1U) != 0;
  if (machine == "s390x") {
    const bool has_number = line.mnemonic == "larl" || line.mnemonic == "jg" || line.mnemonic == "lgfi";
    // The number of the symbol stands behind the jump.
    return (has_number && offset >= 2) || before.mnemonic == "jg";
  }
  const bool has_number =
      line.mnemonic == "push" || line.mnemonic == "jmp" || line.mnemonic == "mov" || line.mnemonic == "lea";
  // call and the jumps of 2 bytes stay within their stub.
  return has_number && line.size >= 5 && offset + 4 >= line.size;
}

/// A stub's instructions without rows lie between those of known ones.
bool knows_or_lies_in(const StubList& found, std::uint64_t pc) {
  return std::ranges::any_of(found.sections, [&](const Range& range) { return range.contains(pc); });
}

/// Whether stubs of the section that holds `pc` are known. Unknown code may jump into those beside it.
bool knows_any_beside(const StubList& found, const elf::Image& image, std::uint64_t pc) {
  const auto section = std::ranges::find_if(
      image.sections(), [&](const elf::Section& other) { return elf::holds_address(other.header, pc); });
  const Range range{section->header.sh_addr, section->header.sh_addr + section->header.sh_size};
  return std::ranges::any_of(found.runs, [&](const StubRun& run) { return range.overlaps({run.start, run.end()}); });
}

class NearMiss : public testing::TestWithParam<std::string> {};

/// Turns over each bit that says what an instruction of a known stub does, by itself. Returns how many there were.
std::size_t turn_each_bit(const std::string& name, std::vector<std::byte> bytes) {
  const elf::Image image = elf::Image::of_bytes(bytes, "case");
  const StubList intact = find_stubs(image);
  const std::string machine = name.substr(0, name.find('-'));
  std::size_t turned = 0;
  Line previous;
  for (const Line& line : read_listing(name)) {
    const Line before = std::exchange(previous, line);
    if (line.size == 0 || line.mnemonic == "call" || !knows_or_lies_in(intact, line.address)) continue;
    const std::uint64_t at = elf::offset_of(image, elf::loaded_bytes(image, line.address, line.size));
    for (std::uint64_t offset = 0; offset < line.size; ++offset) {
      for (unsigned bit = 0; bit < 8; ++bit) {
        if (is_free(machine, before, line, offset, bit)) continue;
        bytes[at + offset] ^= static_cast<std::byte>(1U << bit);
        const StubList after = find_stubs(elf::Image::of_bytes(bytes, "case"));
        bytes[at + offset] ^= static_cast<std::byte>(1U << bit);
        ++turned;
        EXPECT_FALSE(knows(after, line.address)) << line.code << ", byte " << offset << ", bit " << bit;
        EXPECT_LT(known_bytes(after), known_bytes(intact)) << line.code << ", byte " << offset << ", bit " << bit;
        if (image.has_section_headers()) {
          EXPECT_FALSE(knows_any_beside(after, image, line.address)) << line.code << ", byte " << offset;
        }
      }
    }
  }
  return turned;
}

TEST_P(NearMiss, LeavesTheStubOut) {
  EXPECT_GE(turn_each_bit(GetParam(), read_case(GetParam())), 24U);
}

TEST_P(NearMiss, LeavesTheStubOutWithoutSectionHeaders) {
  turn_each_bit(GetParam(), without_section_headers(read_case(GetParam())));
}

/// Bytes by chance, in place of the stubs.
TEST_P(NearMiss, IsNotMetByChance) {
  std::vector<std::byte> bytes = read_case(GetParam());
  const elf::Image image = elf::Image::of_bytes(bytes, "case");
  std::mt19937_64 random(1);
  std::uint64_t sequences = 0;
  const std::vector<Range> sections = find_stubs(image).sections;
  while (sequences < 10'000) {
    for (const Range& section : sections) {
      const auto code = elf::loaded_bytes(image, section.begin, section.end - section.begin);
      const std::uint64_t at = elf::offset_of(image, code);
      for (std::uint64_t i = 0; i < code.size(); ++i) bytes[at + i] = static_cast<std::byte>(random());
      sequences += code.size() / 8;
    }
    ASSERT_EQ(find_stubs(elf::Image::of_bytes(bytes, "case")).runs.size(), 0U);
  }
}

/// GNU ld leaves zeros in place of the last entry or another.
TEST(StaticPie, KeepsItsHeaderBesideAnEntryOfZeros) {
  std::vector<std::byte> bytes = read_case("amd64-ld-2.47-static-pie");
  const elf::Image image = elf::Image::of_bytes(bytes, "case");
  const Range section = find_stubs(image).sections.front();
  constexpr std::uint64_t header = 16, entry = 16;
  const std::uint64_t zeroed = section.begin + header + entry;
  const std::uint64_t at = elf::offset_of(image, elf::loaded_bytes(image, zeroed, entry));
  std::fill_n(bytes.begin() + static_cast<std::ptrdiff_t>(at), entry, std::byte{0});
  const StubList after = find_stubs(elf::Image::of_bytes(bytes, "case"));
  EXPECT_TRUE(knows(after, section.begin));
  EXPECT_TRUE(knows(after, section.begin + header));
  EXPECT_FALSE(knows(after, zeroed));
  // Anything else may jump to the header.
  bytes[at] = std::byte{0x90};
  EXPECT_FALSE(knows(find_stubs(elf::Image::of_bytes(bytes, "case")), section.begin));
}

/// A process runs what its segments map, wherever a section header leads.
TEST(SectionHeader, ThatLeadsToOtherBytesGivesNoStubs) {
  std::vector<std::byte> bytes = read_case("amd64-ld-2.40-lazy");
  const elf::Image image = elf::Image::of_bytes(bytes, "case");
  const elf::Section& plt = *image.find_section(".plt");
  ASSERT_TRUE(knows(find_stubs(image), plt.header.sh_addr));
  // The stubs are at the end of the file, where their header leads; the process has zeros.
  const auto code = image.bytes_of(plt);
  const std::vector<std::byte> stubs(code.begin(), code.end());
  std::fill_n(bytes.begin() + static_cast<std::ptrdiff_t>(plt.header.sh_offset), stubs.size(), std::byte{0});
  const std::uint64_t header =
      image.header().e_shoff + plt.index * sizeof(Elf64_Shdr) + offsetof(Elf64_Shdr, sh_offset);
  store<std::uint64_t>(std::span(bytes).subspan(header), bytes.size(), Endian::Little);
  bytes.insert(bytes.end(), stubs.begin(), stubs.end());
  const StubList after = find_stubs(elf::Image::of_bytes(bytes, "case"));
  EXPECT_FALSE(knows(after, plt.header.sh_addr));
}

INSTANTIATE_TEST_SUITE_P(Stubs, NearMiss, testing::ValuesIn(case_names()),
                         [](const auto& instance) { return test_name(instance.param); });

}  // namespace
}  // namespace sframe_gen::rows::stubs::test
