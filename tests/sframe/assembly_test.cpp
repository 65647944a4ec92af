#include "sframe/assembly.hpp"

#include <gtest/gtest.h>

#include <map>
#include <sstream>

#include "sframe/format.hpp"
#include "sframe/good_section.hpp"
#include "sframe/good_versions.hpp"
#include "sframe_gen/section.hpp"
#include "support/bytes.hpp"
#include "support/endian.hpp"

namespace sframe_gen::sframe {
namespace {

/// Starts as numbers, as the bytes have them, so that no address matters.
std::vector<AssemblyFunction> numbered(std::span<const std::byte> bytes, const Section& section) {
  const VersionTraits& version = traits_of(section.version);
  std::vector<AssemblyFunction> functions;
  for (std::size_t i = 0; i < section.fdes.size(); ++i) {
    const auto field = bytes.subspan(version.header_size() + i * version.descriptor_size);
    const std::uint64_t start = version.start_size == 8 ? load<std::uint64_t>(field, section.endian)
                                                        : load<std::uint32_t>(field, section.endian);
    functions.push_back({std::to_string(start), "f" + std::to_string(i)});
  }
  return functions;
}

std::string text_of(std::span<const std::byte> bytes, const Section& section) {
  return assembly_text(bytes, section, numbered(bytes, section), {"progbits", {}, {}});
}

/// As an assembler of that byte order would, from the data directives alone.
std::vector<std::byte> assemble(const std::string& text, Endian endian) {
  const std::map<std::string, int> sizes{{".byte", 1}, {".2byte", 2}, {".4byte", 4}, {".8byte", 8}};
  ByteWriter writer(endian);
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string name, value;
    words >> name >> value;
    if (name == ".zero") {
      for (int left = std::stoi(value); left > 0; --left) writer.u8(0);
    }
    if (!sizes.contains(name)) continue;
    const std::uint64_t number =
        value[0] == '-' ? static_cast<std::uint64_t>(std::stoll(value, nullptr, 0)) : std::stoull(value, nullptr, 0);
    switch (sizes.at(name)) {
      case 1:
        writer.u8(static_cast<std::uint8_t>(number));
        break;
      case 2:
        writer.u16(static_cast<std::uint16_t>(number));
        break;
      case 4:
        writer.u32(static_cast<std::uint32_t>(number));
        break;
      default:
        writer.u64(number);
    }
  }
  return writer.release();
}

TEST(Assembly, GivesTheBytesBack) {
  const auto bytes = test::good_section();
  const Section section = decode(bytes, test::good_address, {"a.out", ".sframe"});
  EXPECT_EQ(assemble(text_of(bytes, section), section.endian), bytes);
}

class EachVersion : public testing::TestWithParam<const char*> {};

TEST_P(EachVersion, GivesTheBytesBack) {
  const std::string name = GetParam();
  const auto bytes = test::good_version(name);
  const Family family = name.starts_with("ctf") ? Family::CtfFrame : Family::SFrame;
  const Section section = decode(bytes, test::good_address, {"a.out", ".sframe"}, {}, family);
  EXPECT_EQ(assemble(text_of(bytes, section), section.endian), bytes);
}

INSTANTIATE_TEST_SUITE_P(Versions, EachVersion,
                         testing::Values("v2_amd64", "v2_s390x", "v1_aarch64_be", "v3_aarch64_be", "v3_s390x",
                                         "ctf_aarch64"),
                         [](const auto& tested) { return std::string(tested.param); });

TEST(Assembly, NamesFunctionsAndSaysRows) {
  const auto bytes = test::good_section();
  const std::string text = text_of(bytes, decode(bytes, test::good_address, {"a.out", ".sframe"}));
  for (const char* line : {
           "\n\t.pushsection .sframe,\"a\",%progbits\n",
           "\n/* func idx [0]: f0, size = 7 bytes */\n",
           "\n/* rows of func idx [1]: f1, size = 32 bytes, repeating */\n",
           "\n/* func idx [2]: f2, size = 20 bytes, attr = \"SF\" */\n",
           "\n/* +0x1: sp+16 c-16 f */\n",
           "\n/* +0x4: r10+0 (fp+0) U */\n",
           "\n/* +0x10: RA undefined */\n",
           "\n\t.popsection\n",
       })
    EXPECT_NE(("\n" + text).find(line), std::string::npos) << line << text;
}

TEST(Assembly, NoNameEndsItsComment) {
  const auto bytes = test::good_section();
  const Section section = decode(bytes, test::good_address, {"a.out", ".sframe"});
  auto functions = numbered(bytes, section);
  functions[0].name = "a*/ .byte 1 /*\n .byte 2";
  const std::string text = assembly_text(bytes, section, functions, {"progbits", {"*/*/\x1b"}, {".ifndef x"}});
  EXPECT_EQ(assemble(text, section.endian), bytes);
  EXPECT_EQ(text.find("*/ .byte"), std::string::npos);
  EXPECT_NE(text.find("a* / .byte 1 /*\\x0a .byte 2"), std::string::npos) << text;
  EXPECT_TRUE(text.starts_with("/* * /* /\\x1b */\n\t.ifndef x\n\t.pushsection")) << text;
}

TEST(Assembly, QuotesNamesThatAssemblersWouldTakeApart) {
  EXPECT_EQ(assembly_name(".text._Z1fv"), ".text._Z1fv");
  EXPECT_EQ(assembly_name(".text.a$b"), "\".text.a$b\"");
  EXPECT_EQ(assembly_name("a-b"), "\"a-b\"");
  EXPECT_EQ(assembly_name("1f"), "\"1f\"");
  EXPECT_EQ(assembly_name("a\"\\"), "\"a\\\"\\\\\"");
  EXPECT_EQ(assembly_name(""), "\"\"");
}

}  // namespace
}  // namespace sframe_gen::sframe
