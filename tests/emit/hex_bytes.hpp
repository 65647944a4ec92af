#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace sframe_gen::test {

/// "e2 de 03".
inline std::string hex_bytes(std::span<const std::byte> bytes) {
  static constexpr const char* digits = "0123456789abcdef";
  std::string text;
  for (const std::byte byte : bytes) {
    if (!text.empty()) text += ' ';
    text += digits[std::to_integer<unsigned>(byte) >> 4U];
    text += digits[std::to_integer<unsigned>(byte) & 15U];
  }
  return text;
}

}  // namespace sframe_gen::test
