// Runs fuzz targets on inputs that are there. usage: fuzz-replay TARGET FILE or FOLDER... | fuzz-replay --targets

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "target.hpp"

namespace {

void run(const sframe_gen::fuzz::Target& target, const std::filesystem::path& path) {
  std::ifstream stream(path, std::ios::binary);
  const std::vector<char> input{std::istreambuf_iterator<char>(stream), {}};
  // At its exact size, so that AddressSanitizer sees a read past the end.
  const std::vector<char> copy(input.begin(), input.end());
  target.run(std::as_bytes(std::span(copy)));
}

}  // namespace

int main(int count, char** arguments) {
  const std::vector<std::string> words(arguments + 1, arguments + count);
  if (words.size() == 1 && words[0] == "--targets") {
    for (const auto& target : sframe_gen::fuzz::targets())
      std::printf("%.*s\n", static_cast<int>(target.name.size()), target.name.data());
    return 0;
  }
  const auto* const target = words.empty() ? nullptr : sframe_gen::fuzz::find_target(words[0]);
  if (target == nullptr) return 2;
  unsigned inputs = 0;
  for (std::size_t i = 1; i < words.size(); ++i) {
    if (!std::filesystem::is_directory(words[i])) {
      run(*target, words[i]);
      ++inputs;
      continue;
    }
    for (const auto& entry : std::filesystem::directory_iterator(words[i])) {
      run(*target, entry.path());
      ++inputs;
    }
  }
  std::printf("%u inputs\n", inputs);
  return inputs != 0 ? 0 : 1;
}
