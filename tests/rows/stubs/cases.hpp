#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "elf/image.hpp"
#include "elf/records.hpp"
#include "rows/stubs/recognize.hpp"
#include "support/places.hpp"

/// The linked cases of corpus/stubs.
namespace sframe_gen::rows::stubs::test {

inline const std::filesystem::path folder =
    std::filesystem::path(sframe_gen::test::source_folder()) / "corpus" / "stubs";

/// "amd64-lld-14-ibt", …
inline std::vector<std::string> case_names() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() == ".elf") names.push_back(entry.path().stem().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

/// A line of the listing: an instruction, or, without an address, a heading.
struct Line {
  std::string heading;
  std::uint64_t address = 0;
  std::uint64_t size = 0;  ///< bytes
  std::string code;        ///< "1010: ff 25 ea 2f 00 00 | jmp *0x2fea(%rip)"
  std::string mnemonic;
};

inline std::vector<Line> read_listing(const std::string& name) {
  std::ifstream stream(folder / (name + ".txt"));
  std::vector<Line> lines;
  for (std::string text; std::getline(stream, text);) {
    if (text.starts_with("descriptor ")) continue;
    Line& line = lines.emplace_back();
    const std::size_t colon = text.find(": "), bar = text.find(" | ");
    if (bar == std::string::npos || text.find_first_not_of("0123456789abcdef") != colon) {
      line.heading = text;
      continue;
    }
    line.address = std::stoull(text.substr(0, colon), nullptr, 16);
    const std::string digits = text.substr(colon + 2, bar - colon - 2);
    line.size = static_cast<std::uint64_t>(std::ranges::count_if(digits, [](char c) { return c != ' '; })) / 2;
    line.code = text.substr(0, text.find(" |", bar + 3));
    line.mnemonic = text.substr(bar + 3, text.find(' ', bar + 3) - bar - 3);
  }
  return lines;
}

inline std::vector<std::byte> read_case(const std::string& name) {
  std::ifstream stream(folder / (name + ".elf"), std::ios::binary);
  std::ostringstream text;
  text << stream.rdbuf();
  const std::string string = text.str();
  const auto* const bytes = reinterpret_cast<const std::byte*>(string.data());
  return {bytes, bytes + string.size()};
}

inline std::vector<std::byte> without_section_headers(std::vector<std::byte> bytes) {
  const elf::Image image = elf::Image::of_bytes(bytes, "case");
  Elf64_Ehdr header = image.header();
  header.e_shoff = header.e_shnum = header.e_shstrndx = 0;
  elf::store_header(bytes, header, image.endian());
  return bytes;
}

inline std::uint64_t known_bytes(const StubList& found) {
  std::uint64_t bytes = 0;
  for (const StubRun& run : found.runs) bytes += run.size;
  return bytes;
}

inline bool knows(const StubList& found, std::uint64_t pc) {
  return std::ranges::any_of(found.runs, [&](const StubRun& run) { return pc >= run.start && pc < run.end(); });
}

inline std::string test_name(const std::string& name) {
  std::string result = name;
  std::ranges::replace_if(
      result, [](char c) { return c == '-' || c == '.'; }, '_');
  return result;
}

}  // namespace sframe_gen::rows::stubs::test
