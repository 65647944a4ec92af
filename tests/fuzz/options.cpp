// Any text as a command line, and as a response file of a compiler.

#include "cli/options.hpp"

#include <string>
#include <vector>

#include "cli/launch/compiler.hpp"
#include "target.hpp"
#include "trace/program/options.hpp"

namespace sframe_gen::fuzz {

namespace {

template <typename Read>
void parse(const std::vector<std::string>& words, Read read) {
  std::vector<const char*> arguments{"program"};
  for (const std::string& word : words) arguments.push_back(word.c_str());
  try {
    read(static_cast<int>(arguments.size()), arguments.data());
  } catch (const command_line::UsageError&) {
  }
}

}  // namespace

void options(Bytes input) {
  const MemoryFile file(input);
  std::vector<std::string> words = cli::launch::expand_response_files({"cc", "@" + file.path().string()});
  cli::launch::objects_made_by(words);

  words.assign(1, {});
  for (const std::byte byte : input) {
    const char character = static_cast<char>(byte);
    if (character == '\n' || character == '\0') {
      words.emplace_back();
    } else {
      words.back() += character;
    }
  }
  parse(words, cli::read_command_line);
  succeeds([&] { parse(words, trace::read_options); });
}

}  // namespace sframe_gen::fuzz
