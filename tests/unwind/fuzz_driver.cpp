// Runs the fuzz target without a fuzzer: files as they are, or for some seconds sections of tests/sframe damaged at
// random. usage: unwind-fuzz FILE... | unwind-fuzz --seconds N | unwind-fuzz --write FOLDER, which makes the seeds of a
// corpus

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include "sframe/good_section.hpp"
#include "sframe/good_versions.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

using Input = std::vector<std::uint8_t>;

/// Sound sections, each behind eight bytes of choices.
std::vector<Input> seeds() {
  std::vector<Input> made;
  const auto add = [&](const std::vector<std::byte>& section, bool is_ctf, std::uint8_t address) {
    for (std::uint8_t check = 0; check < 2; ++check) {
      Input input{is_ctf ? std::uint8_t{0} : std::uint8_t{1}, check, address, 0, 1, 2, 3, 4};
      for (const std::byte byte : section) input.push_back(std::to_integer<std::uint8_t>(byte));
      made.push_back(input);
    }
  };
  using namespace sframe_gen::sframe;
  add(test::good_section(), false, 0);
  for (const char* name : {"default", "flexible", "stubs"}) add(test::golden_section(name), false, 1);
  for (const char* name : test::good_versions) {
    add(test::good_version(name), test::family_of(name) == Family::CtfFrame, 0);
  }
  return made;
}

void run(const Input& input) {
  // At its exact size, so that AddressSanitizer sees a read past the end.
  const Input copy(input.begin(), input.end());
  LLVMFuzzerTestOneInput(copy.data(), copy.size());
}

void damage(Input& input, std::mt19937& random) {
  for (unsigned left = 1 + random() % 4; left != 0; --left) {
    std::uint8_t& byte = input[random() % input.size()];
    constexpr std::uint8_t telling[]{0, 1, 0x7f, 0x80, 0xff};
    byte = random() % 2 == 0 ? telling[random() % 5] : static_cast<std::uint8_t>(byte ^ 1U << random() % 8);
  }
  if (random() % 16 == 0) input.resize(1 + random() % input.size());
}

}  // namespace

int main(int count, char** arguments) {
  const std::vector<std::string> words(arguments + 1, arguments + count);
  if (words.size() == 2 && words[0] == "--write") {
    unsigned number = 0;
    for (const Input& input : seeds()) {
      std::ofstream(words[1] + "/seed" + std::to_string(number++), std::ios::binary)
          .write(reinterpret_cast<const char*>(input.data()), static_cast<std::streamsize>(input.size()));
    }
    return 0;
  }
  if (words.size() == 2 && words[0] == "--seconds") {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(std::atoi(words[1].c_str()));
    const std::vector<Input> sound = seeds();
    std::mt19937 random(1);
    unsigned long runs = 0;
    for (const Input& input : sound) run(input);
    for (; std::chrono::steady_clock::now() < end; ++runs) {
      Input input = sound[random() % sound.size()];
      damage(input, random);
      run(input);
    }
    std::printf("%lu damaged sections\n", runs);
    return runs > 1000 ? 0 : 1;
  }
  for (const std::string& name : words) {
    std::ifstream stream(name, std::ios::binary);
    run(Input{std::istreambuf_iterator<char>(stream), {}});
  }
  return words.empty() ? 2 : 0;
}
