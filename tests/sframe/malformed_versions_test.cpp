// The sections by hand with one field changed, and the whole of what is said about it.

#include <gtest/gtest.h>

#include <algorithm>
#include <ostream>

#include "sframe/good_section.hpp"
#include "sframe/good_versions.hpp"

namespace sframe_gen::sframe {
namespace {

struct Case {
  const char* name;
  std::size_t offset;
  const char* bytes;
  const char* message;  ///< behind "a.out: .sframe"
};

std::ostream& operator<<(std::ostream& out, const Case& poked) {
  return out << poked.message;
}

std::string message_of(const std::string& section, const std::vector<std::byte>& bytes) {
  try {
    decode(bytes, test::good_address, {"a.out", ".sframe"}, {}, test::family_of(section));
  } catch (const Failure& failure) {
    return std::string(failure.what()).substr(std::string("a.out: .sframe").size());
  }
  return "decoded";
}

std::string poked_message(const std::string& section, const Case& poked) {
  auto bytes = test::good_version(section);
  std::ranges::copy(test::bytes_of(poked.bytes), bytes.begin() + static_cast<std::ptrdiff_t>(poked.offset));
  return message_of(section, bytes);
}

class MalformedV2 : public testing::TestWithParam<Case> {};
TEST_P(MalformedV2, IsNamed) {
  EXPECT_EQ(poked_message("v2_amd64", GetParam()), GetParam().message);
}
constexpr Case v2_cases[]{
    {"UnknownFlag", 3, "0d", "+0x3: flags 0x8 are not defined in SFrame version 2"},
    {"UnknownAbi", 4, "00", "+0x4: ABI is 0x0, which is not defined in SFrame version 2"},
    {"ByteOrderOfAnotherAbi", 4, "04", "+0x4: ABI is s390x, but the byte order is not that ABI's"},
    {"FixedFp", 5, "08", "+0x5: fixed FP offset is 8, not 0"},
    {"FixedRa", 6, "f0", "+0x6: fixed RA offset is -16, but the ABI's is -8"},
    {"AuxiliaryHeader", 7, "5d", "+0x1c: auxiliary header needs 93 bytes, but only 92 are left"},
    {"FunctionsOutside", 8, "05", "+0x8: 5 function descriptors at 0x1c end outside the section (section size 0x78)"},
    {"TooFewRows", 0x0c, "09", "+0xc: number of rows is 9, but the functions have 8"},
    {"TooManyRows", 0x0c, "05", "+0xc: number of rows is 5, but the functions have at least 6"},
    {"HostileRows", 0x0c, "ff ff ff ff", " claims 4294967295 rows in 120 bytes, which no program has"},
    {"RowBytesOutside", 0x10, "21", "+0x10: 0x21 bytes of rows at 0x58 end outside the section (section size 0x78)"},
    {"RowBytesCutARow", 0x10, "1a", "+0x72: row info needs 1 byte, but only 0 are left"},
    {"DescriptorsOutside", 0x14, "61",
     "+0x8: 3 function descriptors at 0x7d end outside the section (section size 0x78)"},
    {"RowsInDescriptors", 0x18, "3b", "+0x18: rows start at 0x57, but the function index ends at 0x58"},
    {"StartWraps", 0x1c, "00 00 00 80",
     "+0x1c: function start is -2147483648 bytes from 0x201c, which is outside the address space"},
    {"NotSorted", 0x30, "c0",
     "+0x30: function at 0xff0 comes after the one at 0x1000, but the index is flagged as sorted"},
    {"Overlap", 0x20, "11", "+0x30: function at 0x1010 overlaps the one from 0x1000 to 0x1011"},
    {"RowsOffsetOutside", 0x4c, "1b", "+0x4c: function's rows are at 0x1b, but the rows have only 27 bytes"},
    {"RowsOfAFunction", 0x28, "0e", "+0x58: 14 rows need at least 28 bytes, but only 27 are left"},
    {"RowType", 0x2c, "03", "+0x2c: row type is 3, which is not defined"},
    {"ReservedBit7IsNoSignalFrameYet", 0x2c, "80", "+0x2c: function info 0x80 has reserved bits set"},
    {"ReservedBit6", 0x2c, "40", "+0x2c: function info 0x40 has reserved bits set"},
    {"SigningKey", 0x2c, "20", "+0x2c: function info 0x20 names a signing key, but the ABI has none"},
    {"RepeatSizeMissing", 0x41, "00", "+0x41: repeat size of a MASK function is 0"},
    {"Padding", 0x2e, "01", "+0x2e: padding of the function descriptor is not zero"},
    {"PaddingsOtherByte", 0x57, "01", "+0x56: padding of the function descriptor is not zero"},
    {"StartTwice", 0x5b, "00", "+0x5b: row starts at 0x0, not after the row before it, which starts at 0x0"},
    {"StartBeyondFunction", 0x63, "08", "+0x63: row starts at 0x8, but the function's size is 0x7"},
    {"StartBeyondBlock", 0x69, "10", "+0x69: row starts at 0x10, but the repeated block's size is 0x10"},
    {"WordWidth", 0x59, "63", "+0x59: size of data words is 3, which is not defined"},
    {"Signed", 0x59, "83", "+0x59: row info 0x83 says that the RA is signed, but the ABI signs none"},
    {"ThreeWords", 0x59, "07", "+0x5a: row has 3 data words, but a default descriptor has 1 to 2"},
    {"StrayPadding", 0x77, "01", "+0x77: byte 0x1 belongs to neither the function index nor the rows"},
};
std::string name_of(const testing::TestParamInfo<Case>& info) {
  return info.param.name;
}
INSTANTIATE_TEST_SUITE_P(Fields, MalformedV2, testing::ValuesIn(v2_cases), name_of);

class MalformedS390x : public testing::TestWithParam<Case> {};
TEST_P(MalformedS390x, IsNamed) {
  EXPECT_EQ(poked_message("v2_s390x", GetParam()), GetParam().message);
}
constexpr Case s390x_cases[]{
    {"LittleEndianAbi", 4, "03", "+0x4: ABI is AMD64, but the byte order is not that ABI's"},
    {"BeforeS390x", 2, "01 01", "+0x4: ABI is 0x4, which is not defined in SFrame version 1"},
    {"FixedRa", 6, "f8", "+0x6: fixed RA offset is -8, but the ABI's is 0"},
    {"SigningKey", 0x2c, "20", "+0x2c: function info 0x20 names a signing key, but the ABI has none"},
    {"Signed", 0x45, "83", "+0x45: row info 0x83 says that the RA is signed, but the ABI signs none"},
    {"FourWords", 0x51, "08", "+0x52: row has 4 data words, but a default descriptor has 1 to 3"},
    // 0x10000000 × 8 + 160 is beyond 32 bits.
    {"CfaOverflows", 0x56, "43 10 00 00 00", "+0x57: CFA offset 2147483808 does not fit in 32 bits"},
    {"CfaOverflowsBelow", 0x56, "43 ef ff ff 00", "+0x57: CFA offset -2147485536 does not fit in 32 bits"},
};
INSTANTIATE_TEST_SUITE_P(Fields, MalformedS390x, testing::ValuesIn(s390x_cases), name_of);

class MalformedV1 : public testing::TestWithParam<Case> {};
TEST_P(MalformedV1, IsNamed) {
  EXPECT_EQ(poked_message("v1_aarch64_be", GetParam()), GetParam().message);
}
constexpr Case v1_cases[]{
    {"FlagOfErratum1", 3, "05", "+0x3: flags 0x4 are not defined in SFrame version 1"},
    {"S390x", 4, "04", "+0x4: ABI is 0x4, which is not defined in SFrame version 1"},
    {"OtherByteOrder", 4, "02", "+0x4: ABI is AArch64, but the byte order is not that ABI's"},
    {"FunctionsOutside", 8, "00 00 00 04",
     "+0x8: 4 function descriptors at 0x1c end outside the section (section size 0x5a)"},
    {"RowsInDescriptors", 0x1b, "21", "+0x18: rows start at 0x3d, but the function index ends at 0x3e"},
    {"RowsOffsetOutside", 0x38, "1c", "+0x35: function's rows are at 0x1c, but the rows have only 28 bytes"},
    {"RowType", 0x2c, "23", "+0x2c: row type is 3, which is not defined"},
    {"ReservedBit6", 0x2c, "60", "+0x2c: function info 0x60 has reserved bits set"},
    {"ReservedBit7", 0x2c, "a0", "+0x2c: function info 0xa0 has reserved bits set"},
    {"StartBeyondFunction", 0x56, "00 21", "+0x56: row starts at 0x21, but the function's size is 0x20"},
    {"NoWords", 0x3f, "00", "+0x3f: row has no data words, which SFrame version 1 does not define"},
    {"FourWords", 0x3f, "09", "+0x40: row has 4 data words, but a default descriptor has 1 to 3"},
    {"WordWidth", 0x45, "e6", "+0x45: size of data words is 3, which is not defined"},
};
INSTANTIATE_TEST_SUITE_P(Fields, MalformedV1, testing::ValuesIn(v1_cases), name_of);

class MalformedCtfFrame : public testing::TestWithParam<Case> {};
TEST_P(MalformedCtfFrame, IsNamed) {
  EXPECT_EQ(poked_message("ctf_aarch64", GetParam()), GetParam().message);
}
constexpr Case ctf_cases[]{
    {"Version2", 2, "02", " has version 2, which is not known"},
    {"UnknownFlag", 3, "07", "+0x3: flags 0x4 are not defined in CTF Frame"},
    {"S390x", 4, "04", "+0x4: ABI is 0x4, which is not defined in CTF Frame"},
    {"FunctionsOutside", 7, "04", "+0x7: 4 function descriptors at 0x1b end outside the section (section size 0x52)"},
    {"TooFewRows", 0x0b, "06", "+0xb: number of rows is 6, but the functions have 5"},
    {"RowBytesOutside", 0x0f, "16", "+0xf: 0x16 bytes of rows at 0x3d end outside the section (section size 0x52)"},
    {"RowsInDescriptors", 0x17, "21", "+0x17: rows start at 0x3c, but the function index ends at 0x3d"},
    {"RowType0", 0x2b, "00", "+0x2b: row type is 0, which is not defined"},
    {"RowType4", 0x2b, "04", "+0x2b: row type is 4, which is not defined"},
    {"ReservedBit5IsNoKey", 0x2b, "21", "+0x2b: function info 0x21 has reserved bits set"},
    {"ReservedBit7", 0x2b, "81", "+0x2b: function info 0x81 has reserved bits set"},
    {"Signed", 0x3e, "83", "+0x3e: row info 0x83 has the reserved bit set"},
    {"NoWords", 0x3e, "01", "+0x3e: row has no data words, which CTF Frame does not define"},
};
INSTANTIATE_TEST_SUITE_P(Fields, MalformedCtfFrame, testing::ValuesIn(ctf_cases), name_of);

class MalformedV3Big : public testing::TestWithParam<Case> {};
TEST_P(MalformedV3Big, IsNamed) {
  EXPECT_EQ(poked_message("v3_aarch64_be", GetParam()), GetParam().message);
}
constexpr Case v3_cases[]{
    {"FramePointerFlag", 3, "07", "+0x3: flags 0x2 are not defined in SFrame version 3"},
    {"ReservedBit6", 0x3e, "60", "+0x3e: function info 0x60 has reserved bits set"},
    {"FourWords", 0x42, "09", "+0x43: row has 4 data words, but a default descriptor has 1 to 3"},
    {"ControlReserved", 0x53, "00 fd", "+0x53: CFA control word 0xfd has the reserved bit set"},
    {"PaddingAtEnd", 0x52, "26", "+0x57: flexible row ends in a padding word"},
    {"FpPadding", 0x59, "00 00", "+0x5b: 1 data word left over behind the rules of a flexible row"},
};
INSTANTIATE_TEST_SUITE_P(Fields, MalformedV3Big, testing::ValuesIn(v3_cases), name_of);

// The largest offsets that fit, either side.
TEST(CfaOfS390x, ReachesTheEndsOf32Bits) {
  EXPECT_EQ(poked_message("v2_s390x", {"", 0x56, "43 0f ff ff eb", ""}), "decoded");
  EXPECT_EQ(poked_message("v2_s390x", {"", 0x56, "43 0f ff ff ec", ""}),
            "+0x57: CFA offset 2147483648 does not fit in 32 bits");
}

}  // namespace
}  // namespace sframe_gen::sframe
