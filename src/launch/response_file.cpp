#include "launch/response_file.hpp"

#include <fstream>
#include <iterator>
#include <optional>
#include <string_view>

namespace sframe_gen::launch {

namespace {

/// libiberty's bound on the files of one command line: they may name each other in a circle.
constexpr int most_files = 2000;

std::vector<std::string> split(std::string_view text) {
  std::vector<std::string> words;
  std::optional<std::string> word;
  char quote = 0;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char next = text[at];
    if (next == '\\' && at + 1 < text.size()) {
      word = word.value_or("") + text[++at];
    } else if (quote != 0 && next == quote) {
      quote = 0;
    } else if (quote != 0) {
      *word += next;
    } else if (next == '"' || next == '\'') {
      quote = next;
      word = word.value_or("");
    } else if (std::string_view(" \t\n\v\f\r").find(next) == std::string_view::npos) {
      word = word.value_or("") + next;
    } else if (word) {
      words.push_back(std::move(*word));
      word.reset();
    }
  }
  if (word) words.push_back(std::move(*word));
  return words;
}

void append_expanded(const std::vector<std::string>& arguments, int& files, std::vector<std::string>& all) {
  for (const std::string& argument : arguments) {
    std::ifstream stream;
    if (argument.size() > 1 && argument[0] == '@' && files < most_files) stream.open(argument.substr(1));
    if (!stream.is_open()) {
      all.push_back(argument);
      continue;
    }
    ++files;
    const std::string text((std::istreambuf_iterator<char>(stream)), {});
    append_expanded(split(text), files, all);
  }
}

}  // namespace

std::vector<std::string> expand_response_files(const std::vector<std::string>& arguments) {
  std::vector<std::string> all;
  int files = 0;
  append_expanded(arguments, files, all);
  return all;
}

}  // namespace sframe_gen::launch
