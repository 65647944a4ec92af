// Sound sections with one field changed, and the whole of what is said about it.

#include <gtest/gtest.h>

#include <algorithm>
#include <ostream>
#include <span>

#include "sframe/format.hpp"
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

constexpr Case header_cases[]{
    {"Magic", 0, "00", "+0x0: magic number is 0xde00, but SFrame has 0xdee2"},
    {"Version0", 2, "00", " has version 0, which is not known"},
    {"Version4", 2, "04", " has version 4, which is not known"},
    {"UnknownFlag", 3, "07", "+0x3: flags 0x2 are not defined in SFrame version 3"},
    {"UnknownAbi", 4, "05", "+0x4: ABI is 0x5, which is not defined in SFrame version 3"},
    {"Aarch64", 4, "02", "+0x6: fixed RA offset is -8, but the ABI's is 0"},
    {"ByteOrderOfAnotherAbi", 0, "de e2", "+0x4: ABI is AMD64, but the byte order is not that ABI's"},
    {"FixedFp", 5, "f0", "+0x5: fixed FP offset is -16, not 0"},
    {"FixedRa", 6, "00", "+0x6: fixed RA offset is 0, but the ABI's is -8"},
    {"AuxiliaryHeader", 7, "ff", "+0x1c: auxiliary header needs 255 bytes, but only 108 are left"},
    {"IndexOutside", 8, "ff ff ff ff", "+0x8: 4294967295 FDEs at 0x1c end outside the section (section size 136)"},
    {"IndexFarOutside", 0x14, "ff ff ff ff", "+0x8: 3 FDEs at 0x10000001b end outside the section (section size 136)"},
    {"RowsInIndex", 0x18, "2f", "+0x18: rows start at 0x4b, but the function index ends at 0x4c"},
    {"RowsOutside", 0x10, "3d", "+0x10: 61 bytes of rows at 0x4c end outside the section (section size 136)"},
    {"TooFewRows", 0x0c, "0b", "+0xc: number of rows is 11, but the functions have 10"},
    {"TooManyRows", 0x0c, "05", "+0xc: number of rows is 5, but the functions have at least 6"},
    {"HostileRows", 0x0c, "ff ff ff ff", " claims 4294967295 rows in 136 bytes, which no program has"},
};

constexpr Case function_cases[]{
    {"StartWraps", 0x23, "80",
     "+0x1c: function start is -9151314442816851996 bytes from 0x201c, which is outside the address "
     "space"},
    {"NotSorted", 0x2d, "ee",
     "+0x2c: function at 0xf10 comes after the one at 0x1000, but the index is flagged as sorted"},
    {"Overlap", 0x24, "11", "+0x2c: function at 0x1010 overlaps the one from 0x1000 to 0x1011"},
    {"AttributeOutside", 0x28, "38", "+0x28: function's rows are at 0x38, but the rows have only 56 bytes"},
    {"AttributeCut", 0x48, "34", "+0x84: repeat size needs 1 byte, but only 0 are left"},
    {"RowsOfFunction", 0x6a, "0b", "+0x6f: 11 rows need at least 22 bytes, but only 21 are left"},
    {"RowType", 0x4e, "03", "+0x4e: row type is 3, which is not defined"},
    {"ReservedInfo", 0x4e, "40", "+0x4e: function info 0x40 has reserved bits set"},
    {"SigningKey", 0x4e, "20", "+0x4e: function info 0x20 names a signing key, but the ABI has none"},
    {"ReservedInfo2", 0x4f, "20", "+0x4f: function info 2 0x20 has reserved bits set"},
    {"DescriptorType", 0x4f, "02", "+0x4f: FDE type is 2, which is not defined"},
    {"RepeatSizeMissing", 0x63, "00", "+0x63: repeat size of a MASK function is 0"},
    {"RepeatSizeStray", 0x50, "10", "+0x50: repeat size is 0x10, but the function does not repeat"},
};

constexpr Case row_cases[]{
    {"StartTwice", 0x54, "00", "+0x54: row starts at 0x0, not after the row before it, which starts at 0x0"},
    {"StartBeyondFunction", 0x5c, "08", "+0x5c: row starts at 0x8, but the function's size is 0x7"},
    {"StartBeyondBlock", 0x67, "10", "+0x67: row starts at 0x10, but the repeated block's size is 0x10"},
    {"WordWidth", 0x52, "63", "+0x52: size of data words is 3, which is not defined"},
    {"Signed", 0x52, "83", "+0x52: row info 0x83 says that the RA is signed, but the ABI signs none"},
    {"ThreeWords", 0x52, "07", "+0x53: row has 3 data words, but a default FDE has 1 to 2"},
    {"ControlReserved", 0x71, "3d", "+0x71: CFA control word 0x3d has the reserved bit set"},
    {"ControlNamesRegister", 0x71, "38", "+0x71: CFA control word 0x38 names a register, but is not based on one"},
    {"CfaFromCfa", 0x71, "02", "+0x71: CFA rule of a flexible row has no base register"},
    {"CfaPadding", 0x71, "00", "+0x71: CFA rule of a flexible row has no base register"},
    {"CfaWithoutOffset", 0x70, "02", "+0x71: CFA control word 0x39 has no offset word after it"},
    {"RaWithoutOffset", 0x7b, "06", "+0x7e: RA control word 0x2 has no offset word after it"},
    {"FpWithoutOffset", 0x7b, "0a", "+0x80: FP control word 0x2 has no offset word after it"},
    {"PaddingAtEnd", 0x74, "06", "+0x77: flexible row ends in a padding word"},
    // GNU as writes this for .cfi_restore of a register that was saved in another one.
    {"FpPaddingWithOffset", 0x78, "00", "+0x79: 1 data word left over after the rules of a flexible row"},
    {"WordsLeftOver", 0x7b, "0e", "+0x82: 1 data word left over after the rules of a flexible row"},
    {"WordsCut", 0x83, "4c", "+0x84: control word needs 4 bytes, but only 0 are left"},
    {"StrayPadding", 0x86, "01", "+0x86: byte 0x1 belongs to neither the function index nor the rows"},
};

constexpr Case v2_cases[]{
    {"UnknownFlag", 3, "0d", "+0x3: flags 0x8 are not defined in SFrame version 2"},
    {"UnknownAbi", 4, "00", "+0x4: ABI is 0x0, which is not defined in SFrame version 2"},
    {"ByteOrderOfAnotherAbi", 4, "04", "+0x4: ABI is s390x, but the byte order is not that ABI's"},
    {"FixedFp", 5, "08", "+0x5: fixed FP offset is 8, not 0"},
    {"FixedRa", 6, "f0", "+0x6: fixed RA offset is -16, but the ABI's is -8"},
    {"AuxiliaryHeader", 7, "5d", "+0x1c: auxiliary header needs 93 bytes, but only 92 are left"},
    {"FunctionsOutside", 8, "05", "+0x8: 5 FDEs at 0x1c end outside the section (section size 120)"},
    {"TooFewRows", 0x0c, "09", "+0xc: number of rows is 9, but the functions have 8"},
    {"TooManyRows", 0x0c, "05", "+0xc: number of rows is 5, but the functions have at least 6"},
    {"HostileRows", 0x0c, "ff ff ff ff", " claims 4294967295 rows in 120 bytes, which no program has"},
    {"RowBytesOutside", 0x10, "21", "+0x10: 33 bytes of rows at 0x58 end outside the section (section size 120)"},
    {"RowBytesCutARow", 0x10, "1a", "+0x72: row info needs 1 byte, but only 0 are left"},
    {"DescriptorsOutside", 0x14, "61", "+0x8: 3 FDEs at 0x7d end outside the section (section size 120)"},
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
    {"Padding", 0x2e, "01", "+0x2e: padding of the FDE is not zero"},
    {"PaddingsOtherByte", 0x57, "01", "+0x56: padding of the FDE is not zero"},
    {"StartTwice", 0x5b, "00", "+0x5b: row starts at 0x0, not after the row before it, which starts at 0x0"},
    {"StartBeyondFunction", 0x63, "08", "+0x63: row starts at 0x8, but the function's size is 0x7"},
    {"StartBeyondBlock", 0x69, "10", "+0x69: row starts at 0x10, but the repeated block's size is 0x10"},
    {"WordWidth", 0x59, "63", "+0x59: size of data words is 3, which is not defined"},
    {"Signed", 0x59, "83", "+0x59: row info 0x83 says that the RA is signed, but the ABI signs none"},
    {"ThreeWords", 0x59, "07", "+0x5a: row has 3 data words, but a default FDE has 1 to 2"},
    {"StrayPadding", 0x77, "01", "+0x77: byte 0x1 belongs to neither the function index nor the rows"},
};

constexpr Case s390x_cases[]{
    {"LittleEndianAbi", 4, "03", "+0x4: ABI is AMD64, but the byte order is not that ABI's"},
    {"BeforeS390x", 2, "01 01", "+0x4: ABI is 0x4, which is not defined in SFrame version 1"},
    {"FixedRa", 6, "f8", "+0x6: fixed RA offset is -8, but the ABI's is 0"},
    {"SigningKey", 0x2c, "20", "+0x2c: function info 0x20 names a signing key, but the ABI has none"},
    {"Signed", 0x45, "83", "+0x45: row info 0x83 says that the RA is signed, but the ABI signs none"},
    {"FourWords", 0x51, "08", "+0x52: row has 4 data words, but a default FDE has 1 to 3"},
    // 0x10000000 × 8 + 160 is beyond 32 bits.
    {"CfaOverflows", 0x56, "43 10 00 00 00", "+0x57: CFA offset 2147483808 does not fit in 32 bits"},
    {"CfaOverflowsBelow", 0x56, "43 ef ff ff 00", "+0x57: CFA offset -2147485536 does not fit in 32 bits"},
};

constexpr Case v1_cases[]{
    {"FlagOfErratum1", 3, "05", "+0x3: flags 0x4 are not defined in SFrame version 1"},
    {"S390x", 4, "04", "+0x4: ABI is 0x4, which is not defined in SFrame version 1"},
    {"OtherByteOrder", 4, "02", "+0x4: ABI is AArch64, but the byte order is not that ABI's"},
    {"FunctionsOutside", 8, "00 00 00 04", "+0x8: 4 FDEs at 0x1c end outside the section (section size 90)"},
    {"RowsInDescriptors", 0x1b, "21", "+0x18: rows start at 0x3d, but the function index ends at 0x3e"},
    {"RowsOffsetOutside", 0x38, "1c", "+0x35: function's rows are at 0x1c, but the rows have only 28 bytes"},
    {"RowType", 0x2c, "23", "+0x2c: row type is 3, which is not defined"},
    {"ReservedBit6", 0x2c, "60", "+0x2c: function info 0x60 has reserved bits set"},
    {"ReservedBit7", 0x2c, "a0", "+0x2c: function info 0xa0 has reserved bits set"},
    {"StartBeyondFunction", 0x56, "00 21", "+0x56: row starts at 0x21, but the function's size is 0x20"},
    {"NoWords", 0x3f, "00", "+0x3f: row has no data words, which SFrame version 1 does not define"},
    {"FourWords", 0x3f, "09", "+0x40: row has 4 data words, but a default FDE has 1 to 3"},
    {"WordWidth", 0x45, "e6", "+0x45: size of data words is 3, which is not defined"},
};

constexpr Case ctf_cases[]{
    {"Version2", 2, "02", " has version 2, which is not known"},
    {"UnknownFlag", 3, "07", "+0x3: flags 0x4 are not defined in CTF Frame"},
    {"S390x", 4, "04", "+0x4: ABI is 0x4, which is not defined in CTF Frame"},
    {"FunctionsOutside", 7, "04", "+0x7: 4 FDEs at 0x1b end outside the section (section size 82)"},
    {"TooFewRows", 0x0b, "06", "+0xb: number of rows is 6, but the functions have 5"},
    {"RowBytesOutside", 0x0f, "16", "+0xf: 22 bytes of rows at 0x3d end outside the section (section size 82)"},
    {"RowsInDescriptors", 0x17, "21", "+0x17: rows start at 0x3c, but the function index ends at 0x3d"},
    {"RowType0", 0x2b, "00", "+0x2b: row type is 0, which is not defined"},
    {"RowType4", 0x2b, "04", "+0x2b: row type is 4, which is not defined"},
    {"ReservedBit5IsNoKey", 0x2b, "21", "+0x2b: function info 0x21 has reserved bits set"},
    {"ReservedBit7", 0x2b, "81", "+0x2b: function info 0x81 has reserved bits set"},
    {"Signed", 0x3e, "83", "+0x3e: row info 0x83 has the reserved bit set"},
    {"NoWords", 0x3e, "01", "+0x3e: row has no data words, which CTF Frame does not define"},
};

constexpr Case v3_cases[]{
    {"FramePointerFlag", 3, "07", "+0x3: flags 0x2 are not defined in SFrame version 3"},
    {"ReservedBit6", 0x3e, "60", "+0x3e: function info 0x60 has reserved bits set"},
    {"FourWords", 0x42, "09", "+0x43: row has 4 data words, but a default FDE has 1 to 3"},
    {"ControlReserved", 0x53, "00 fd", "+0x53: CFA control word 0xfd has the reserved bit set"},
    {"PaddingAtEnd", 0x52, "26", "+0x57: flexible row ends in a padding word"},
    {"FpPadding", 0x59, "00 00", "+0x5b: 1 data word left over after the rules of a flexible row"},
};

constexpr struct {
  const char* section;  ///< "good" is the one of good_section.hpp, any other a file of tests/sframe/data
  std::span<const Case> cases;
} tables[]{
    {"good", header_cases},    {"good", function_cases},    {"good", row_cases},        {"v2_amd64", v2_cases},
    {"v2_s390x", s390x_cases}, {"v1_aarch64_be", v1_cases}, {"ctf_aarch64", ctf_cases}, {"v3_aarch64_be", v3_cases},
};

struct Poked {
  const char* section;
  Case change;
};

std::ostream& operator<<(std::ostream& out, const Poked& poked) {
  return out << poked.change.message;
}

std::vector<Poked> all_cases() {
  std::vector<Poked> all;
  for (const auto& table : tables) {
    for (const Case& change : table.cases) all.push_back({table.section, change});
  }
  return all;
}

std::vector<std::byte> section_named(const std::string& name) {
  return name == "good" ? test::good_section() : test::good_version(name);
}

std::string message_of(const std::string& section, const std::vector<std::byte>& bytes,
                       std::uint64_t address = test::good_address) {
  try {
    decode(bytes, address, {"a.out", ".sframe"}, {}, test::family_of(section));
  } catch (const Failure& failure) {
    const std::string message = failure.what();
    const std::string origin = "a.out: .sframe";
    return message.starts_with(origin) ? message.substr(origin.size()) : message;
  }
  return "decoded";
}

std::string poked_message(const std::string& section, const Case& change) {
  auto bytes = section_named(section);
  std::ranges::copy(test::bytes_of(change.bytes), bytes.begin() + static_cast<std::ptrdiff_t>(change.offset));
  return message_of(section, bytes);
}

class Malformed : public testing::TestWithParam<Poked> {};
TEST_P(Malformed, IsNamed) {
  EXPECT_EQ(poked_message(GetParam().section, GetParam().change), GetParam().change.message);
}
INSTANTIATE_TEST_SUITE_P(Fields, Malformed, testing::ValuesIn(all_cases()), [](const auto& tested) {
  return std::string(tested.param.section) + '_' + tested.param.change.name;
});

TEST(MalformedSection, OverlapInAnUnsortedIndex) {
  auto bytes = test::good_section();
  bytes[3] = std::byte{flag::function_start_pc_relative};
  bytes[0x2c] = std::byte{0xd2};  // second function from 0xffe, 32 bytes long
  EXPECT_EQ(message_of("good", bytes), "+0x1c: function at 0x1000 overlaps the one from 0xffe to 0x101e");
}

TEST(MalformedSection, FunctionRunsOutOfTheAddressSpace) {
  auto bytes = test::good_section();
  for (std::size_t i = 0x44; i < 0x48; ++i) bytes[i] = std::byte{0xff};  // size of the last function
  EXPECT_EQ(message_of("good", bytes, 0xffffffff80000000),
            "+0x44: function at 0xffffffff7ffff040 with size 0xffffffff ends outside the address space");
}

TEST(MalformedSection, Empty) {
  EXPECT_EQ(message_of("good", {}), "+0x0: magic number needs 2 bytes, but only 0 are left");
}

// The largest offsets that fit, either side.
TEST(CfaOfS390x, ReachesTheEndsOf32Bits) {
  EXPECT_EQ(poked_message("v2_s390x", {"", 0x56, "43 0f ff ff eb", ""}), "decoded");
  EXPECT_EQ(poked_message("v2_s390x", {"", 0x56, "43 0f ff ff ec", ""}),
            "+0x57: CFA offset 2147483648 does not fit in 32 bits");
}

}  // namespace
}  // namespace sframe_gen::sframe
