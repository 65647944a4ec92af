#include "support/text.hpp"

#include <array>
#include <charconv>

namespace sframe_gen {

std::string hex(std::uint64_t value) {
  std::array<char, 18> digits{'0', 'x'};
  const auto end = std::to_chars(digits.data() + 2, digits.data() + digits.size(), value, 16).ptr;
  return {digits.data(), end};
}

std::string count_of(std::uint64_t count, std::string_view noun) {
  std::string text = std::to_string(count) + ' ' + std::string(noun);
  return count == 1 ? text : text + 's';
}

}  // namespace sframe_gen
