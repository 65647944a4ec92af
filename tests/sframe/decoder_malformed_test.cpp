#include <gtest/gtest.h>

#include <algorithm>
#include <ostream>

#include "sframe/format.hpp"
#include "sframe/good_section.hpp"
#include "sframe_gen/section.hpp"

namespace sframe_gen::sframe {
namespace {

/// The good section with one field changed, and the whole of what is said about it.
struct Case {
  const char* name;
  std::size_t offset;
  const char* bytes;
  const char* message;
};

std::ostream& operator<<(std::ostream& out, const Case& poked) {
  return out << poked.message;
}

std::string message_of(const std::vector<std::byte>& bytes, std::uint64_t address = test::good_address) {
  try {
    decode(bytes, address, {"a.out", ".sframe"});
  } catch (const Failure& failure) {
    return failure.what();
  }
  return "decoded";
}

class Malformed : public testing::TestWithParam<Case> {};

TEST_P(Malformed, IsNamed) {
  auto bytes = test::good_section();
  const auto poked = test::bytes_of(GetParam().bytes);
  std::ranges::copy(poked, bytes.begin() + static_cast<std::ptrdiff_t>(GetParam().offset));
  EXPECT_EQ(message_of(bytes), GetParam().message);
}

constexpr Case header_cases[]{
    {"Magic", 0, "00", "a.out: .sframe+0x0: magic number is 0xde00, but SFrame has 0xdee2"},
    {"Version0", 2, "00", "a.out: .sframe has version 0, which is not known"},
    {"Version4", 2, "04", "a.out: .sframe has version 4, which is not known"},
    {"UnknownFlag", 3, "07", "a.out: .sframe+0x3: flags 0x2 are not defined in SFrame version 3"},
    {"UnknownAbi", 4, "05", "a.out: .sframe+0x4: ABI is 0x5, which is not defined in SFrame version 3"},
    {"Aarch64", 4, "02", "a.out: .sframe+0x6: fixed RA offset is -8, but the ABI's is 0"},
    {"ByteOrderOfAnotherAbi", 0, "de e2", "a.out: .sframe+0x4: ABI is AMD64, but the byte order is not that ABI's"},
    {"FixedFp", 5, "f0", "a.out: .sframe+0x5: fixed FP offset is -16, not 0"},
    {"FixedRa", 6, "00", "a.out: .sframe+0x6: fixed RA offset is 0, but the ABI's is -8"},
    {"AuxiliaryHeader", 7, "ff", "a.out: .sframe+0x1c: auxiliary header needs 255 bytes, but only 108 are left"},
    {"IndexOutside", 8, "ff ff ff ff",
     "a.out: .sframe+0x8: 4294967295 function descriptors at 0x1c end outside the section (section size 0x88)"},
    {"IndexFarOutside", 0x14, "ff ff ff ff",
     "a.out: .sframe+0x8: 3 function descriptors at 0x10000001b end outside the section (section size 0x88)"},
    {"RowsInIndex", 0x18, "2f", "a.out: .sframe+0x18: rows start at 0x4b, but the function index ends at 0x4c"},
    {"RowsOutside", 0x10, "3d",
     "a.out: .sframe+0x10: 0x3d bytes of rows at 0x4c end outside the section (section size 0x88)"},
    {"TooFewRows", 0x0c, "0b", "a.out: .sframe+0xc: number of rows is 11, but the functions have 10"},
    {"TooManyRows", 0x0c, "05", "a.out: .sframe+0xc: number of rows is 5, but the functions have at least 6"},
    {"HostileRows", 0x0c, "ff ff ff ff", "a.out: .sframe claims 4294967295 rows in 136 bytes, which no program has"},
};

constexpr Case function_cases[]{
    {"StartWraps", 0x23, "80",
     "a.out: .sframe+0x1c: function start is -9151314442816851996 bytes from 0x201c, which is outside the address "
     "space"},
    {"NotSorted", 0x2d, "ee",
     "a.out: .sframe+0x2c: function at 0xf10 comes after the one at 0x1000, but the index is flagged as sorted"},
    {"Overlap", 0x24, "11", "a.out: .sframe+0x2c: function at 0x1010 overlaps the one from 0x1000 to 0x1011"},
    {"AttributeOutside", 0x28, "38",
     "a.out: .sframe+0x28: function's rows are at 0x38, but the rows have only 56 bytes"},
    {"AttributeCut", 0x48, "34", "a.out: .sframe+0x84: repeat size needs 1 byte, but only 0 are left"},
    {"RowsOfFunction", 0x6a, "0b", "a.out: .sframe+0x6f: 11 rows need at least 22 bytes, but only 21 are left"},
    {"RowType", 0x4e, "03", "a.out: .sframe+0x4e: row type is 3, which is not defined"},
    {"ReservedInfo", 0x4e, "40", "a.out: .sframe+0x4e: function info 0x40 has reserved bits set"},
    {"SigningKey", 0x4e, "20", "a.out: .sframe+0x4e: function info 0x20 names a signing key, but the ABI has none"},
    {"ReservedInfo2", 0x4f, "20", "a.out: .sframe+0x4f: function info 2 0x20 has reserved bits set"},
    {"DescriptorType", 0x4f, "02", "a.out: .sframe+0x4f: descriptor type is 2, which is not defined"},
    {"RepeatSizeMissing", 0x63, "00", "a.out: .sframe+0x63: repeat size of a MASK function is 0"},
    {"RepeatSizeStray", 0x50, "10", "a.out: .sframe+0x50: repeat size is 0x10, but the function does not repeat"},
};

constexpr Case row_cases[]{
    {"StartTwice", 0x54, "00",
     "a.out: .sframe+0x54: row starts at 0x0, not after the row before it, which starts at 0x0"},
    {"StartBeyondFunction", 0x5c, "08", "a.out: .sframe+0x5c: row starts at 0x8, but the function's size is 0x7"},
    {"StartBeyondBlock", 0x67, "10", "a.out: .sframe+0x67: row starts at 0x10, but the repeated block's size is 0x10"},
    {"WordWidth", 0x52, "63", "a.out: .sframe+0x52: size of data words is 3, which is not defined"},
    {"Signed", 0x52, "83", "a.out: .sframe+0x52: row info 0x83 says that the RA is signed, but the ABI signs none"},
    {"ThreeWords", 0x52, "07", "a.out: .sframe+0x53: row has 3 data words, but a default descriptor has 1 to 2"},
    {"ControlReserved", 0x71, "3d", "a.out: .sframe+0x71: CFA control word 0x3d has the reserved bit set"},
    {"ControlNamesRegister", 0x71, "38",
     "a.out: .sframe+0x71: CFA control word 0x38 names a register, but is not based on one"},
    {"CfaFromCfa", 0x71, "02", "a.out: .sframe+0x71: CFA rule of a flexible row has no base register"},
    {"CfaPadding", 0x71, "00", "a.out: .sframe+0x71: CFA rule of a flexible row has no base register"},
    {"CfaWithoutOffset", 0x70, "02", "a.out: .sframe+0x71: CFA control word 0x39 has no offset word behind it"},
    {"RaWithoutOffset", 0x7b, "06", "a.out: .sframe+0x7e: RA control word 0x2 has no offset word behind it"},
    {"FpWithoutOffset", 0x7b, "0a", "a.out: .sframe+0x80: FP control word 0x2 has no offset word behind it"},
    {"PaddingAtEnd", 0x74, "06", "a.out: .sframe+0x77: flexible row ends in a padding word"},
    // GNU as writes this for .cfi_restore of a register that was saved in another one.
    {"FpPaddingWithOffset", 0x78, "00",
     "a.out: .sframe+0x79: 1 data word left over behind the rules of a flexible row"},
    {"WordsLeftOver", 0x7b, "0e", "a.out: .sframe+0x82: 1 data word left over behind the rules of a flexible row"},
    {"WordsCut", 0x83, "4c", "a.out: .sframe+0x84: control word needs 4 bytes, but only 0 are left"},
    {"StrayPadding", 0x86, "01", "a.out: .sframe+0x86: byte 0x1 belongs to neither the function index nor the rows"},
};

std::string name_of(const testing::TestParamInfo<Case>& info) {
  return info.param.name;
}

INSTANTIATE_TEST_SUITE_P(Header, Malformed, testing::ValuesIn(header_cases), name_of);
INSTANTIATE_TEST_SUITE_P(Fde, Malformed, testing::ValuesIn(function_cases), name_of);
INSTANTIATE_TEST_SUITE_P(Fre, Malformed, testing::ValuesIn(row_cases), name_of);

TEST(MalformedSection, OverlapInAnUnsortedIndex) {
  auto bytes = test::good_section();
  bytes[3] = std::byte{flag::function_start_pc_relative};
  bytes[0x2c] = std::byte{0xd2};  // second function from 0xffe, 32 bytes long
  EXPECT_EQ(message_of(bytes), "a.out: .sframe+0x1c: function at 0x1000 overlaps the one from 0xffe to 0x101e");
}

TEST(MalformedSection, FunctionRunsOutOfTheAddressSpace) {
  auto bytes = test::good_section();
  for (std::size_t i = 0x44; i < 0x48; ++i) bytes[i] = std::byte{0xff};  // size of the last function
  EXPECT_EQ(message_of(bytes, 0xffffffff80000000),
            "a.out: .sframe+0x44: function at 0xffffffff7ffff040 with size 0xffffffff ends outside the address space");
}

TEST(MalformedSection, Empty) {
  EXPECT_EQ(message_of({}), "a.out: .sframe+0x0: magic number needs 2 bytes, but only 0 are left");
}

}  // namespace
}  // namespace sframe_gen::sframe
