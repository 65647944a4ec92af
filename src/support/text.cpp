#include "support/text.hpp"

#include <algorithm>
#include <array>
#include <charconv>

#include "support/hash.hpp"

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

namespace {

/// How many bytes of a letter `text` begins with: 0 if it is no UTF-8 (RFC 3629: the shortest form, no surrogates).
std::size_t letter_size(std::string_view text) {
  const auto byte_at = [&](std::size_t at) { return at < text.size() ? static_cast<unsigned char>(text[at]) : 0U; };
  const unsigned first = byte_at(0), second = byte_at(1);
  if (first < 0x80) return 1;
  const std::size_t size = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  const bool is_first = first >= 0xc2 && first <= 0xf4;
  const unsigned least = first == 0xe0 ? 0xa0 : first == 0xf0 ? 0x90 : 0x80;
  const unsigned most = first == 0xed ? 0x9f : first == 0xf4 ? 0x8f : 0xbf;
  if (!is_first || second < least || second > most) return 0;
  for (std::size_t i = 2; i < size; ++i)
    if (byte_at(i) < 0x80 || byte_at(i) > 0xbf) return 0;
  return size;
}

}  // namespace

std::string shortened(std::string text, std::size_t most) {
  if (text.size() <= most) return text;
  constexpr std::size_t hash_bytes = 4, longest_rest = 3;
  Digester digester;
  digester.update(std::as_bytes(std::span(text)));
  const Digest digest = digester.digest();
  std::size_t end = most;
  const auto is_inside = [&] { return (static_cast<unsigned char>(text[end]) & 0xc0U) == 0x80U; };
  while (end > 0 && most - end < longest_rest && is_inside()) --end;
  text.resize(end);
  text += "…";
  constexpr std::string_view letters = "0123456789abcdef";
  for (std::size_t i = 0; i < hash_bytes; ++i) {
    const auto byte = std::to_integer<std::size_t>(digest.at(i));
    text.append({letters[byte >> 4U], letters[byte & 15U]});
  }
  return text;
}

std::string valid_utf8(std::string_view text) {
  if (std::ranges::all_of(text, [](char letter) { return static_cast<unsigned char>(letter) < 0x80; }))
    return std::string(text);
  std::string valid;
  valid.reserve(text.size());
  while (!text.empty()) {
    const std::size_t size = letter_size(text);
    if (size == 0) {
      valid += "\xef\xbf\xbd";  // U+FFFD
    } else {
      valid.append(text.substr(0, size));
    }
    text.remove_prefix(std::max<std::size_t>(size, 1));
  }
  return valid;
}

}  // namespace sframe_gen
