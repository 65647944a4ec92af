// The verifier's own reading of what stands between functions.

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "verify/instruction.hpp"

namespace sframe_gen::test {
namespace {

/// A program that is one executable segment: its code stands behind the headers.
class Code {
 public:
  Code(const std::string& hex_text, std::uint16_t machine, bool big) : bytes_(code_at) {
    for (std::size_t i = 0; i + 1 < hex_text.size(); i += 3)
      bytes_.push_back(static_cast<std::byte>(std::stoi(hex_text.substr(i, 2), nullptr, 16)));
    const auto put = [&](std::size_t at, std::uint64_t value, std::size_t size) {
      for (std::size_t i = 0; i < size; ++i)
        bytes_[at + i] = static_cast<std::byte>(value >> 8U * (big ? size - 1 - i : i));
    };
    std::memcpy(bytes_.data(),
                "\x7f"
                "ELF\x02\x01\x01",
                7);
    if (big) bytes_[5] = std::byte{2};
    put(16, ET_EXEC, 2);
    put(18, machine, 2);
    put(20, 1, 4);
    put(32, sizeof(Elf64_Ehdr), 8);
    put(52, sizeof(Elf64_Ehdr), 2);
    put(54, sizeof(Elf64_Phdr), 2);
    put(56, 1, 2);
    put(58, sizeof(Elf64_Shdr), 2);
    const std::size_t segment = sizeof(Elf64_Ehdr);
    put(segment, PT_LOAD, 4);
    put(segment + 4, PF_R | PF_X, 4);
    put(segment + 16, base, 8);
    put(segment + 24, base, 8);
    put(segment + 32, bytes_.size(), 8);
    put(segment + 40, bytes_.size(), 8);
    put(segment + 48, 0x1000, 8);
  }

  bool is_padding(sframe::Abi abi) const {
    const elf::Image image = elf::Image::of_bytes(bytes_, "code");
    return verify::is_padding(image, abi, base + code_at, base + bytes_.size());
  }

 private:
  static constexpr std::uint64_t base = 0x400000;
  static constexpr std::size_t code_at = sizeof(Elf64_Ehdr) + sizeof(Elf64_Phdr);
  std::vector<std::byte> bytes_;
};

bool on_amd64(const std::string& code) {
  return Code(code, EM_X86_64, false).is_padding(sframe::Abi::Amd64);
}
bool on_aarch64(const std::string& code) {
  return Code(code, EM_AARCH64, false).is_padding(sframe::Abi::Aarch64Little);
}
bool on_s390x(const std::string& code) {
  return Code(code, EM_S390, true).is_padding(sframe::Abi::S390x);
}

TEST(PaddingOfTheVerifier, DecodesNops) {
  for (const char* code : {"90", "66 90", "0f 1f 00", "0f 1f 44 00 00", "66 2e 0f 1f 84 00 00 00 00 00", "cc 90 00",
                           "66 66 2e 0f 1f 84 00 00 00 00 00 0f 1f 80 00 00 00 00"})
    EXPECT_TRUE(on_amd64(code)) << code;
  for (const char* code : {"1f 20 03 d5", "00 00 00 00"}) EXPECT_TRUE(on_aarch64(code)) << code;
  for (const char* code : {"07 07", "47 00 00 00", "a7 04 00 00", "c0 04 00 00 00 00", "00"})
    EXPECT_TRUE(on_s390x(code)) << code;
}

TEST(PaddingOfTheVerifier, TakesNoCode) {
  for (const char* code : {"c3", "90 c3", "66", "0f 1f", "0f 1f 44 00", "0f 1f 48 00", "f3 90", "0f 0b", "f3 0f 1e fa"})
    EXPECT_FALSE(on_amd64(code)) << code;
  for (const char* code : {"c0 03 5f d6", "5f 24 03 d5", "3f 23 03 d5", "01 00 00 d4", "20 00 20 d4"})
    EXPECT_FALSE(on_aarch64(code)) << code;
  for (const char* code : {"07 fe", "47 f0 00 00", "a7 f4 00 00", "c0 f4 00 00 00 00", "47 00 00"})
    EXPECT_FALSE(on_s390x(code)) << code;
}

}  // namespace
}  // namespace sframe_gen::test
