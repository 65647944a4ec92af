#include <gtest/gtest.h>

#include <sstream>

#include "sframe/dump.hpp"
#include "sframe/good_section.hpp"
#include "sframe/good_versions.hpp"
#include "sframe_gen/section.hpp"

/// Damaged sections: decoding returns or throws Failure. Each copy is allocated at its exact size, so that
/// AddressSanitizer sees a read past the end.
namespace sframe_gen::sframe {
namespace {

/// Whether it decodes; what does can also be dumped.
bool survives(const std::vector<std::byte>& bytes, Family family) {
  try {
    const Section section = decode(bytes, test::golden_address, {"a.out", ".sframe"}, {.allow_overlap = true}, family);
    std::ostringstream out;
    dump(section, ".sframe", out);
    return true;
  } catch (const Failure&) {
    return false;
  }
}

class Hostile : public testing::TestWithParam<const char*> {
 protected:
  static std::vector<std::byte> section() {
    const std::string name = GetParam();
    if (name == "good") return test::good_section();
    const auto golden = test::golden_section(name);
    return golden.empty() ? test::good_version(name) : golden;
  }
  static bool survives(const std::vector<std::byte>& bytes) {
    return sframe::survives(bytes, test::family_of(GetParam()));
  }
};

TEST_P(Hostile, EveryBitFlipped) {
  const auto good = section();
  ASSERT_TRUE(survives(good));
  for (std::size_t bit = 0; bit < good.size() * 8; ++bit) {
    std::vector<std::byte> bytes(good.begin(), good.end());
    bytes[bit / 8] ^= std::byte{1} << (bit % 8);
    survives(bytes);
  }
}

TEST_P(Hostile, EveryByteSaturated) {
  const auto good = section();
  for (std::size_t i = 0; i < good.size(); ++i) {
    for (const std::byte value : {std::byte{0}, std::byte{0x7f}, std::byte{0x80}, std::byte{0xff}}) {
      std::vector<std::byte> bytes(good.begin(), good.end());
      bytes[i] = value;
      survives(bytes);
    }
  }
}

TEST_P(Hostile, EveryLength) {
  auto good = section();
  while (!good.empty() && good.back() == std::byte{0}) good.pop_back();  // padding may go; so may nothing else
  for (std::size_t size = 0; size + 1 < good.size(); ++size) {
    const std::vector<std::byte> bytes(good.begin(), good.begin() + static_cast<std::ptrdiff_t>(size));
    EXPECT_FALSE(survives(bytes)) << "cut to " << size << " bytes";
  }
}

std::string name_of(const testing::TestParamInfo<const char*>& tested) {
  return tested.param;
}
INSTANTIATE_TEST_SUITE_P(Sections, Hostile, testing::Values("good", "default", "flexible", "stubs"), name_of);
INSTANTIATE_TEST_SUITE_P(Versions, Hostile, testing::ValuesIn(test::good_versions), name_of);

}  // namespace
}  // namespace sframe_gen::sframe
