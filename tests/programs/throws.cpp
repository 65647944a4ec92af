// Throws exceptions through frames of several kinds, for tools/step-programs.

#include <cstdio>
#include <exception>
#include <map>
#include <memory>
#include <regex>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

struct Guard {
  std::string text = "a string that does not fit into the object itself";
  ~Guard() { asm volatile("" : : "r"(text.data()) : "memory"); }
};

[[gnu::noinline]] int throw_below(int depth, std::vector<std::unique_ptr<Guard>>& guards) {
  const Guard guard;
  guards.push_back(std::make_unique<Guard>());
  if (depth == 0) throw std::runtime_error(guard.text);
  return throw_below(depth - 1, guards) + static_cast<int>(guards.size());
}

/// Catches it on its way, and throws another one that has it inside.
[[gnu::noinline]] int rethrow(int depth) {
  std::vector<std::unique_ptr<Guard>> guards;
  try {
    return throw_below(depth, guards);
  } catch (...) {
    std::throw_with_nested(std::logic_error("thrown with " + std::to_string(guards.size())));
  }
}

std::size_t length_of(const std::exception& error) {
  std::size_t length = std::string(error.what()).size();
  try {
    std::rethrow_if_nested(error);
  } catch (const std::exception& inner) {
    length += length_of(inner);
  }
  return length;
}

}  // namespace

int main() {
  std::size_t length = 0;
  for (int depth = 0; depth < 6; ++depth) {
    try {
      rethrow(depth);
    } catch (const std::exception& error) {
      length += length_of(error);
    }
  }
  try {
    length += std::map<std::string, std::size_t>{{"here", 1}}.at("not here");  // thrown by libstdc++
  } catch (const std::out_of_range& error) {
    length += length_of(error);
  }
  try {
    const std::regex unfinished("(a|b");
    length += unfinished.mark_count();
  } catch (const std::regex_error& error) {
    length += length_of(error);
  }
  std::printf("%zu\n", length);
  return length > 400 ? 0 : 1;
}
