// Catches what the library throws, and lets the standard library throw.
#include <future>
#include <iostream>
#include <map>
#include <numeric>
#include <regex>
#include <stdexcept>
#include <string>
#include <vector>

int unwound_here();
void throw_from(int depth, void (*call)(int));
int catch_in_library(void (*call)(int));
std::string throw_through_libc();

namespace {

void thrower(int i) {
  throw std::runtime_error(std::to_string(i * 6));
}

struct Base {
  virtual ~Base() = default;
  virtual int value(int) const = 0;
};
struct Derived : virtual Base {
  int value(int n) const override {
    if (n > 3) throw std::invalid_argument("more than three");
    return n * 10;
  }
};

int rethrown(const Base& object) {
  try {
    return object.value(3) + object.value(4);
  } catch (...) {
    try {
      throw;
    } catch (const std::logic_error& error) {
      std::cout << "rethrown: " << error.what() << '\n';
    }
  }
  return 0;
}

}  // namespace

int main() {
  try {
    throw_from(10, thrower);
  } catch (const std::exception& error) {
    std::cout << "caught " << error.what() << ", unwound " << unwound_here() << '\n';
  }
  std::cout << "library caught " << catch_in_library(thrower) << ", unwound " << unwound_here() << '\n';
  std::cout << "through libc: " << throw_through_libc() << '\n';
  rethrown(Derived());
  try {
    std::regex("(unclosed");
  } catch (const std::regex_error& error) {
    std::cout << "regex: " << (error.code() == std::regex_constants::error_paren) << '\n';
  }
  auto elsewhere = std::async(std::launch::async, [] {
    throw_from(5, thrower);
    return 1;
  });
  try {
    elsewhere.get();
  } catch (const std::runtime_error& error) {
    std::cout << "from a thread: " << error.what() << ", unwound here " << unwound_here() << '\n';
  }
  std::map<std::string, std::vector<int>> all;
  for (int i = 0; i < 1000; ++i) all[std::to_string(i % 7)].push_back(i);
  for (const auto& [key, values] : all)
    std::cout << key << ' ' << std::accumulate(values.begin(), values.end(), 0) << '\n';
}
