#include "trace/report/frame_text.hpp"

#include <algorithm>
#include <array>
#include <charconv>

namespace sframe_gen::trace {

namespace {

void append_number(std::string& text, std::uint64_t value, int base, std::size_t digits, char fill) {
  std::array<char, 32> number{};
  const char* const end = std::to_chars(number.data(), number.data() + number.size(), value, base).ptr;
  const auto size = static_cast<std::size_t>(end - number.data());
  text.append(digits - std::min(digits, size), fill).append(number.data(), size);
}

}  // namespace

void append_hex(std::string& text, std::uint64_t value, std::size_t digits, char fill) {
  constexpr int base = 16;
  append_number(text, value, base, digits, fill);
}

void append_decimal(std::string& text, std::uint64_t value, std::size_t digits, char fill) {
  constexpr int base = 10;
  append_number(text, value, base, digits, fill);
}

void append_offset(std::string& text, std::uint64_t offset) {
  text += "+0x";
  append_hex(text, offset, 1, '0');
}

void append_function(std::string& text, const NamedFrame& named, const char* unknown) {
  if (named.function.empty()) {
    text += unknown;
  } else {
    text += named.function;
    append_offset(text, named.offset);
  }
}

}  // namespace sframe_gen::trace
