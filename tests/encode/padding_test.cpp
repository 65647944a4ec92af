// Padding between functions, as compilers and linkers leave it. The encoder and the judge read it by code of their own.

#include "encode/padding.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace sframe_gen::test {
namespace {

/// "90 cc" → bytes.
std::vector<std::byte> bytes_of(const std::string& hex_text) {
  std::vector<std::byte> bytes;
  for (std::size_t i = 0; i + 1 < hex_text.size(); i += 3)
    bytes.push_back(static_cast<std::byte>(std::stoi(hex_text.substr(i, 2), nullptr, 16)));
  return bytes;
}

bool is_padding(const std::string& hex_text, sframe::Abi abi, bool zeros = true) {
  const std::vector<std::byte> code = bytes_of(hex_text);
  return encode::padding_before(code, abi, zeros) == code.size();
}

TEST(Padding, NopsOfX86) {
  for (const char* code :
       {"90", "66 90", "0f 1f 00", "0f 1f 40 00", "0f 1f 44 00 00", "66 0f 1f 44 00 00", "0f 1f 80 00 00 00 00",
        "0f 1f 84 00 00 00 00 00", "66 0f 1f 84 00 00 00 00 00", "66 2e 0f 1f 84 00 00 00 00 00",
        "66 66 2e 0f 1f 84 00 00 00 00 00", "66 66 66 66 66 66 2e 0f 1f 84 00 00 00 00 00", "cc cc cc", "00 00", ""}) {
    EXPECT_TRUE(is_padding(code, sframe::Abi::Amd64)) << code;
  }
}

TEST(Padding, CodeOfX86IsNot) {
  for (const char* code :
       {"c3", "90 c3", "0f 1f", "0f 1f 44 00", "0f 1f 44 00 08", "66", "f3 90", "0f 0b", "66 cc", "0f 1f 48 00",
        "f3 0f 1e fa", "eb 02 90 90", "66 66 66 66 66 66 66 2e 0f 1f 84 00 00 00 00 00"}) {
    EXPECT_FALSE(is_padding(code, sframe::Abi::Amd64)) << code;
  }
}

TEST(Padding, OfAarch64) {
  for (const char* code : {"1f 20 03 d5", "00 00 00 00", "00 00 00 00 1f 20 03 d5"})
    EXPECT_TRUE(is_padding(code, sframe::Abi::Aarch64Little)) << code;
  for (const char* code : {"c0 03 5f d6", "1f 20 03", "5f 24 03 d5", "3f 23 03 d5", "01 00 00 d4", "07 00 00 00"})
    EXPECT_FALSE(is_padding(code, sframe::Abi::Aarch64Little)) << code;
  // Instructions that begin or end in zeros: b ., ldr x0, [x0], brk #0, hlt #0.
  for (const char* code : {"00 00 00 14 00 00 00 00", "00 00 40 f9 00 00 00 00", "00 00 40 d4 00 00 00 00"})
    EXPECT_FALSE(is_padding(code, sframe::Abi::Aarch64Little)) << code;
  // brk: a function may be a trap alone.
  for (const char* code : {"00 00 20 d4", "20 00 20 d4", "00 7d 20 d4"})
    EXPECT_FALSE(is_padding(code, sframe::Abi::Aarch64Little)) << code;
  // Instructions have one byte order in both.
  EXPECT_TRUE(is_padding("1f 20 03 d5", sframe::Abi::Aarch64Big));
}

TEST(Padding, OfS390x) {
  for (const char* code : {"07 07", "07 00", "47 00 00 00", "a7 04 00 00", "c0 04 00 00 00 00", "00 00"})
    EXPECT_TRUE(is_padding(code, sframe::Abi::S390x)) << code;
  for (const char* code : {"07 fe", "07", "47 f0 00 00", "a7 f4 00 00", "c0 f4 00 00 00 00", "47 00 00"})
    EXPECT_FALSE(is_padding(code, sframe::Abi::S390x)) << code;
}

/// In an object they may be what a relocation fills in.
TEST(Padding, ZerosCountWhereTheyAreFinal) {
  EXPECT_FALSE(is_padding("90 00 00", sframe::Abi::Amd64, false));
  EXPECT_FALSE(is_padding("00 00 00 00", sframe::Abi::Aarch64Little, false));
}

}  // namespace
}  // namespace sframe_gen::test
