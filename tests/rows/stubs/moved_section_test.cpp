// Sections of code whose headers were moved over each other, which only damage does: what is known of one place must
// not be taken for another's.

#include <gtest/gtest.h>

#include <algorithm>
#include <span>
#include <utility>

#include "cfi/frame_source.hpp"
#include "rows/stubs/cases.hpp"

namespace sframe_gen::rows::stubs::test {
namespace {

class MovedSection : public testing::TestWithParam<std::string> {
 protected:
  /// Calls back with the case as it is when one of its sections of code claims to stand a little lower or higher.
  template <typename Function>
  void for_each_move(Function function) const {
    const std::vector<std::byte> intact = read_case(GetParam());
    const elf::Image image = elf::Image::of_bytes(intact, "case");
    for (std::size_t i = 0; i < image.sections().size(); ++i) {
      Elf64_Shdr section = image.sections()[i].header;
      if ((section.sh_flags & SHF_EXECINSTR) == 0) continue;
      const std::uint64_t address = section.sh_addr;
      for (std::int64_t by = -0x68; by < 0x68; by += 3) {
        section.sh_addr = address + static_cast<std::uint64_t>(by);
        std::vector<std::byte> moved = intact;
        const std::uint64_t at = image.header().e_shoff + i * sizeof section;
        elf::store_section(std::span(moved).subspan(at, sizeof section), section, image.endian());
        function(elf::Image::of_bytes(moved, "case"));
      }
    }
  }
};

TEST_P(MovedSection, LeavesRangesOfStubsAscendingAndDisjoint) {
  for_each_move([](const elf::Image& image) {
    const std::vector<Range> ranges = find_stubs(image).sections;
    for (std::size_t i = 0; i < ranges.size(); ++i) {
      EXPECT_FALSE(ranges[i].empty());
      EXPECT_GE(ranges[i].begin, i == 0 ? 0 : ranges[i - 1].end);
    }
  });
}

// Each FDE up to the end of the section in which it starts, whatever the one before it started in.
TEST_P(MovedSection, EndsFunctionsWhereTheirSectionEnds) {
  const std::vector<std::byte> bytes = read_case(GetParam());
  const elf::Image intact = elf::Image::of_bytes(bytes, "case");
  cfi::RuleTable rules;
  const cfi::FrameSource source(intact, intact);
  std::vector<std::pair<std::uint64_t, std::uint64_t>> functions;
  cfi::FrameReader(source, rules).for_each_function({0, source.size()}, [&](const cfi::Function& function) {
    functions.emplace_back(function.start, function.size);
  });
  for_each_move([&](const elf::Image& image) {
    std::vector<Range> right;
    for (const auto& [start, size] : functions) {
      const std::uint64_t code = image.code_left(start);
      if (code != 0) right.push_back({start, start + std::min(size, code)});
    }
    EXPECT_EQ(cfi::FrameSource(image, image).described().ranges(), RangeSet(right).ranges());
  });
}

INSTANTIATE_TEST_SUITE_P(All, MovedSection, testing::ValuesIn(case_names()),
                         [](const auto& tested) { return test_name(tested.param); });

}  // namespace
}  // namespace sframe_gen::rows::stubs::test
