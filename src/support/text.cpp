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
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte_at = [&](std::size_t at) { return at < text.size() ? static_cast<unsigned char>(text[at]) : 0U; };
    const unsigned byte = byte_at(i);
    // U+0080 to U+009F are control characters too; U+009B begins what ESC [ begins.
    const bool begins_c1 = byte == 0xc2 && byte_at(i + 1) >= 0x80 && byte_at(i + 1) < 0xa0;
    const bool ends_c1 = byte >= 0x80 && byte < 0xa0 && i > 0 && byte_at(i - 1) == 0xc2;
    if (byte >= 0x20 && byte != 0x7f && !begins_c1 && !ends_c1) {
      result += text[i];
    } else {
      result.append({'\\', 'x', digits[byte >> 4U], digits[byte & 15U]});
    }
  }
  return result;
}

std::string_view text_before_zero(std::span<const std::byte> bytes) {
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  return text.substr(0, text.find('\0'));
}

std::string in_parentheses(const std::vector<std::string>& clauses) {
  std::string text;
  for (const std::string& clause : clauses) text += (text.empty() ? " (" : ", ") + clause;
  return text.empty() ? text : text + ')';
}

std::string count_of(std::uint64_t count, std::string_view noun) {
  std::string text = std::to_string(count) + ' ' + std::string(noun);
  return count == 1 ? text : text + 's';
}

}  // namespace sframe_gen
