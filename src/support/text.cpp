#include "support/text.hpp"

#include <array>
#include <charconv>

namespace sframe_gen {

std::string hex(std::uint64_t value) {
  std::array<char, 18> digits{'0', 'x'};
  const auto end = std::to_chars(digits.data() + 2, digits.data() + digits.size(), value, 16).ptr;
  return {digits.data(), end};
}

std::string printable(std::string_view text) {
  static constexpr const char* digits = "0123456789abcdef";
  std::string result;
  for (const char character : text) {
    const auto byte = static_cast<unsigned char>(character);
    if (byte >= 0x20 && byte != 0x7f) {
      result += character;
    } else {
      result.append({'\\', 'x', digits[byte >> 4U], digits[byte & 15U]});
    }
  }
  return result;
}

std::string count_of(std::uint64_t count, std::string_view noun) {
  std::string text = std::to_string(count) + ' ' + std::string(noun);
  return count == 1 ? text : text + 's';
}

}  // namespace sframe_gen
