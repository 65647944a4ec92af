// Runs fuzz targets on inputs that are there, and on changed copies of them: the same ones each time.
// usage: fuzz-replay [--changed=NUMBER [--seed=NUMBER]] TARGET FILE or DIRECTORY... | fuzz-replay --targets
//
// NUMBER copies of each input are changed. One that breaks a property is left as finding-TARGET in the working
// directory.

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "mutator.hpp"
#include "target.hpp"

namespace {

using namespace sframe_gen::fuzz;
using Input = std::vector<std::uint8_t>;

struct Target {
  std::string_view name;
  void (*run)(Bytes input);
};

constexpr Target targets[] = {
    {"archive", archive},
    {"code", code},
    {"conversion", conversion},
    {"core_file", core_file},
    {"dwarf", dwarf},
    {"expression", expression},
    {"go", go},
    {"image", image},
    {"object", object},
    {"options", options},
    {"perf_data", perf_data},
    {"plan", plan},
    {"proc", proc},
    {"ring", ring},
    {"rows", rows},
    {"section", section},
    {"undo", undo},
    {"unwind", unwind},
};

std::minstd_rand chance;
std::string finding;             ///< its name
const Input* current = nullptr;  ///< a changed copy that is being tried

/// Only calls that a signal handler may make.
void keep_finding(int number) {
  if (current != nullptr) {
    const int file = ::open(finding.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644);
    static_cast<void>(!::write(file, current->data(), current->size()));
  }
  std::signal(number, SIG_DFL);
  ::raise(number);
}

std::size_t below(std::size_t limit) {
  return chance() % limit;
}

Input changed(Input input) {
  if (below(8) != 0) {
    bool is_elf = true;
    for (std::size_t changes = 1 + below(3); is_elf && changes > 0; --changes)
      is_elf = mutate_elf(input, static_cast<unsigned>(chance()), nullptr);
    if (is_elf) return input;
  }
  change_bytes(input, static_cast<unsigned>(chance()));
  if (below(8) == 0) input.resize(below(input.size() + 1));
  if (below(16) == 0) input.insert(input.end(), 1 + below(32), static_cast<std::uint8_t>(chance()));
  return input;
}

void run(const Target& target, const std::filesystem::path& path, unsigned copies, unsigned seed) {
  std::ifstream stream(path, std::ios::binary);
  const Input read{std::istreambuf_iterator<char>(stream), {}};
  // At its exact size, so that AddressSanitizer sees a read past the end.
  const Input input(read.begin(), read.end());
  target.run(std::as_bytes(std::span(input)));
  // The same copies, whatever other inputs there are.
  unsigned number = seed;
  for (const char letter : path.filename().string()) number = number * 31 + static_cast<unsigned char>(letter);
  chance.seed(number + 1);
  for (unsigned i = 0; i < copies; ++i) {
    const Input other = changed(input);
    const Input exact(other.begin(), other.end());
    current = &exact;
    target.run(std::as_bytes(std::span(exact)));
    current = nullptr;
  }
}

/// Takes "--NAME=NUMBER" from the front of `words`. Returns 0 if it is not there.
unsigned number_of(std::string_view option, std::vector<std::string>& words) {
  unsigned number = 0;
  if (words.empty() || !words.front().starts_with(option)) return number;
  const std::string& word = words.front();
  std::from_chars(word.data() + option.size(), word.data() + word.size(), number);
  words.erase(words.begin());
  return number;
}

}  // namespace

int main(int count, char** arguments) {
  std::vector<std::string> words(arguments + 1, arguments + count);
  if (words.size() == 1 && words[0] == "--targets") {
    for (const Target& target : targets) std::printf("%s\n", target.name.data());
    return 0;
  }
  const unsigned copies = number_of("--changed=", words);
  const unsigned seed = number_of("--seed=", words);
  const auto* const target = words.empty() ? std::end(targets) : std::ranges::find(targets, words[0], &Target::name);
  if (target == std::end(targets)) return 2;
  finding = "finding-" + words[0];
  for (const int number : {SIGABRT, SIGSEGV, SIGFPE, SIGBUS, SIGALRM}) {
    // A sanitizer's handler says more.
    const auto before = std::signal(number, keep_finding);
    if (before != SIG_DFL) std::signal(number, before);
  }
  std::vector<std::filesystem::path> inputs;
  for (std::size_t i = 1; i < words.size(); ++i) {
    if (std::filesystem::is_directory(words[i]))
      inputs.insert(inputs.end(), std::filesystem::directory_iterator(words[i]), {});
    else
      inputs.emplace_back(words[i]);
  }
  std::ranges::sort(inputs);
  for (const auto& input : inputs) run(*target, input, copies, seed);
  std::printf("%zu inputs, %u changed copies of each\n", inputs.size(), copies);
  return inputs.empty() ? 1 : 0;
}
