#include "cfi/frame_source.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "cfi/cfi_builder.hpp"
#include "cfi/frame_sections.hpp"
#include "elf/image.hpp"

namespace sframe_gen::test {
namespace {

/// x86-64's .eh_frame at `section_address`: a CIE as in good_section(), and FDEs.
class EhFrame {
 public:
  EhFrame() : bytes_(good_section()) { bytes_.resize(cie_size); }

  void add_fde(std::uint32_t start, std::uint32_t size, const std::vector<std::byte>& instructions) {
    const auto place = static_cast<std::uint32_t>(bytes_.size());
    const auto length = static_cast<std::uint32_t>((17 + instructions.size() + 7) / 8 * 8 - 4);
    const auto cie_distance = place + 4;
    const auto start_distance = start - (static_cast<std::uint32_t>(section_address) + place + 8);
    for (const std::uint32_t word : {length, cie_distance, start_distance, size})
      for (unsigned shift = 0; shift < 32; shift += 8) bytes_.push_back(static_cast<std::byte>(word >> shift));
    bytes_.push_back({});  // no augmentation data
    bytes_.insert(bytes_.end(), instructions.begin(), instructions.end());
    bytes_.resize(place + 4 + length);  // DW_CFA_nop
  }

  /// A library with that section and code below it.
  std::vector<std::byte> library() const {
    constexpr std::string_view names{"\0.text\0.eh_frame\0.shstrtab", 27};
    const std::size_t names_offset = section_address + bytes_.size(), headers_offset = (names_offset + 31) / 8 * 8;
    const Elf64_Shdr headers[] = {
        {},
        {1, SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, 0x100, 0x100, 0x100, 0, 0, 1, 0},
        {7, SHT_PROGBITS, SHF_ALLOC, section_address, section_address, bytes_.size(), 0, 0, 8, 0},
        {17, SHT_STRTAB, 0, 0, names_offset, names.size(), 0, 0, 1, 0},
    };
    Elf64_Ehdr header{};
    std::memcpy(header.e_ident, "\177ELF\2\1\1", 7);
    header.e_type = ET_DYN;
    header.e_machine = EM_X86_64;
    header.e_version = EV_CURRENT;
    header.e_ehsize = sizeof header;
    header.e_phentsize = sizeof(Elf64_Phdr);
    header.e_shentsize = sizeof(Elf64_Shdr);
    header.e_phoff = sizeof header;
    header.e_phnum = 1;
    header.e_shoff = headers_offset;
    header.e_shnum = std::size(headers);
    header.e_shstrndx = 3;
    const Elf64_Phdr segment{PT_LOAD, PF_R | PF_X, 0, 0, 0, names_offset, names_offset, 0x1000};
    std::vector<std::byte> file(headers_offset + sizeof headers);
    std::memcpy(file.data(), &header, sizeof header);
    std::memcpy(&file[sizeof header], &segment, sizeof segment);
    std::memcpy(&file[section_address], bytes_.data(), bytes_.size());
    std::memcpy(&file[names_offset], names.data(), names.size());
    std::memcpy(&file[headers_offset], headers, sizeof headers);
    return file;
  }

 private:
  static constexpr std::size_t cie_size = 0x18;
  std::vector<std::byte> bytes_;
};

std::vector<SpelledFunction> functions_of(const EhFrame& section,
                                          std::shared_ptr<const cfi::OtherFunctions> others = nullptr) {
  const std::vector<std::byte> file = section.library();
  const elf::Image image = elf::Image::of_bytes(file, "library");
  const cfi::FrameSource source(image, image, std::move(others));
  cfi::RuleTable rules;
  cfi::FrameReader reader(source, rules);
  std::vector<SpelledFunction> functions;
  for (const cfi::FrameSource::Part& part : source.parts(1))
    reader.for_each_function(part,
                             [&](const cfi::Function& function) { functions.push_back(spelled(function, rules)); });
  return functions;
}

/// DW_CFA_def_cfa_offset by one number after the other, and 16 in the end.
std::vector<std::byte> offsets_from(unsigned first, unsigned count) {
  std::vector<std::byte> instructions;
  for (unsigned offset = first; offset < first + count; ++offset)
    for (const unsigned byte : {0x0eU, offset % 128 + 128, offset / 128 % 128 + 128, offset / 128 / 128})
      instructions.push_back(static_cast<std::byte>(byte));
  instructions.insert(instructions.end(), {std::byte{0x0e}, std::byte{16}});
  return instructions;
}

const cfi::Rules sp_plus_16{reg(7, 16), {}, {}, at_cfa(-8)};

/// The rules of one function are bounded. What another one had before it takes nothing away, also where they overlap.
TEST(FrameReader, EachFdeMayHaveAsManyRulesAsItWouldAlone) {
  constexpr unsigned count = cfi::CfiInterpreter::most_rules / 4 * 3;
  EhFrame section;
  section.add_fde(0x100, 0x40, offsets_from(0x10000, count));
  section.add_fde(0x120, 0x40, offsets_from(0x10000 + count, count));
  EXPECT_EQ(functions_of(section), (std::vector<SpelledFunction>{{0x100, 0x60, false, {{0, sp_plus_16}}}}));
}

TEST(FrameReader, AnFdeWithMoreRulesThanThatIsNotBelieved) {
  EhFrame section;
  section.add_fde(0x100, 0x40, offsets_from(0x10000, cfi::CfiInterpreter::most_rules + 1));
  const cfi::Rules malformed{cfi::UnknownReason::MalformedFde, {}, {}, {}};
  EXPECT_EQ(functions_of(section), (std::vector<SpelledFunction>{{0x100, 0x40, false, {{0, malformed}}}}));
}

/// Functions of one row each, with the CFA at SP + 24.
class OthersOfOneRow final : public cfi::OtherFunctions {
 public:
  explicit OthersOfOneRow(std::vector<Range> ranges) : ranges_(std::move(ranges)) {}
  const std::vector<Range>& ranges() const override { return ranges_; }
  void read(std::size_t index, cfi::Function& function, cfi::RuleTable& rules) const override {
    function = {ranges_[index].begin, ranges_[index].size(), false, {{0, rules.intern(rule)}}};
  }
  RowSource source_of(std::size_t) const override { return RowSource::GoTable; }

  inline static const cfi::Rules rule{reg(7, 24), {}, {}, at_cfa(-8)};

 private:
  std::vector<Range> ranges_;
};

TEST(FrameReader, OtherFunctionsWinOverFdes) {
  EhFrame section;
  section.add_fde(0x100, 0x40, offsets_from(16, 1));
  section.add_fde(0x140, 0x10, offsets_from(16, 1));
  const auto others =
      std::make_shared<OthersOfOneRow>(std::vector<Range>{{0x110, 0x120}, {0x140, 0x150}, {0x150, 0x158}});
  const std::vector<SpelledFunction> expected{{0x100, 0x10, false, {{0, sp_plus_16}}},
                                              {0x110, 0x10, false, {{0, OthersOfOneRow::rule}}},
                                              {0x120, 0x20, false, {{0, sp_plus_16}}},
                                              {0x140, 0x10, false, {{0, OthersOfOneRow::rule}}},
                                              {0x150, 0x08, false, {{0, OthersOfOneRow::rule}}}};
  EXPECT_EQ(functions_of(section, others), expected);
}

}  // namespace
}  // namespace sframe_gen::test
