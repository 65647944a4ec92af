#pragma once

#include <cctype>
#include <cstddef>
#include <fstream>
#include <iterator>
#include <span>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "support/places.hpp"

namespace sframe_gen::sframe::test {

/// The bytes of "e2 de 03"; from '#' to the end of a line is a comment.
inline std::vector<std::byte> bytes_of(const std::string& text) {
  std::vector<std::byte> bytes;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line.substr(0, line.find('#')));
    for (std::string word; words >> word;) bytes.push_back(static_cast<std::byte>(std::stoi(word, nullptr, 16)));
  }
  return bytes;
}

inline std::string read_text(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// A file of tests/sframe/data; empty if there is none.
inline std::string golden_text(const std::string& name) {
  return read_text(sframe_gen::test::source_folder() + "/tests/sframe/data/" + name);
}

inline std::vector<std::byte> golden_section(const std::string& name) {
  const std::string text = golden_text(name + ".bin");
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

/// Where the sections of tests/sframe/data lie.
inline constexpr std::uint64_t golden_address = 0x20000;

}  // namespace sframe_gen::sframe::test
