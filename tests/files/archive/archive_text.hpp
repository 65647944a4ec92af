#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <vector>

#include "files/archive/rebuild.hpp"

/// Archives written out as text.
namespace sframe_gen::files::archive::test {

inline std::span<const std::byte> bytes_of(const std::string& text) {
  return {reinterpret_cast<const std::byte*>(text.data()), text.size()};
}

inline std::string text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

inline std::string text_of(const Rebuilt& rebuilt) {
  std::string text;
  for (const auto piece : rebuilt.pieces()) text += text_of(piece);
  return text;
}

inline std::string column(std::string text, std::size_t width) {
  text.resize(width, ' ');
  return text;
}

/// With a date, an owner, a group and a mode that nobody makes up.
inline std::string header(const std::string& name, const std::string& size) {
  return column(name, 16) + column("1700000001", 12) + column("1001", 6) + column("1002", 6) + column("100640", 8) +
         column(size, 10) + "`\n";
}

/// Header, data and padding.
inline std::string member(const std::string& name, const std::string& data) {
  return header(name, std::to_string(data.size())) + data + (data.size() % 2 != 0 ? "\n" : "");
}

inline std::string big_endian(std::uint64_t value, std::size_t size) {
  std::string text(size, '\0');
  for (std::size_t i = 0; i < size; ++i) text[size - 1 - i] = static_cast<char>(value >> (8 * i));
  return text;
}

/// The data of an index: `number_size` is 4 or 8.
inline std::string index_data(std::initializer_list<std::uint64_t> offsets, const std::string& names,
                              std::size_t number_size = 4) {
  std::string text = big_endian(offsets.size(), number_size);
  for (const std::uint64_t offset : offsets) text += big_endian(offset, number_size);
  return text + names;
}

inline const std::string regular = "!<arch>\n";
inline const std::string thin = "!<thin>\n";

}  // namespace sframe_gen::files::archive::test
