#include <gtest/gtest.h>

#include <string_view>

#include "elf/image.hpp"

namespace sframe_gen::elf {
namespace {

using namespace std::string_view_literals;

std::string why(std::string_view text) {
  return why_not_elf(std::as_bytes(std::span(text)));
}

TEST(OtherFormat, NamesCompressedFiles) {
  EXPECT_EQ(why("\x1f\x8b\x08"sv), "compressed with gzip; decompress it first (gzip -d)");
  EXPECT_EQ(why("\xfd\x37zXZ\0\0"sv), "compressed with xz; decompress it first (xz -d)");
  EXPECT_EQ(why("\x28\xb5\x2f\xfd\x24"sv), "compressed with zstd; decompress it first (zstd -d)");
}

TEST(OtherFormat, NamesBitcode) {
  constexpr const char* bitcode = "LLVM bitcode, not machine code; convert what it is linked into";
  EXPECT_EQ(why("BC\xc0\xde\x35"sv), bitcode);
  EXPECT_EQ(why("\xde\xc0\x17\x0b\0"sv), bitcode);
}

TEST(OtherFormat, AllElseIsNoElfFile) {
  for (const auto text : {""sv, "B"sv, "BC"sv, "BC\xc0"sv, "#!/bin/sh"sv, "\x1f"sv, "\xfd\x37zXZ"sv,
                          "\x7f"
                          "EL"sv})
    EXPECT_EQ(why(text), "not an ELF file") << text;
}

}  // namespace
}  // namespace sframe_gen::elf
