// A library that throws through its own frames and those of whoever calls it.
#include <algorithm>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <vector>

thread_local int unwound = 0;
int unwound_here() {
  return unwound;
}

struct Guard {
  std::string text;
  ~Guard() { ++unwound; }
};

void throw_from(int depth, void (*call)(int)) {
  const Guard guard{std::string(100 + static_cast<std::size_t>(depth), 'x')};
  if (depth == 0) return call(7);
  throw_from(depth - 1, call);
}

int catch_in_library(void (*call)(int)) {
  try {
    throw_from(3, call);
  } catch (const std::runtime_error& error) {
    return std::stoi(error.what());
  }
  return -1;
}

namespace {
int refuse(const void* a, const void* b) {
  const Guard guard{"of a comparison"};
  if (*static_cast<const int*>(a) == 5 || *static_cast<const int*>(b) == 5) throw std::out_of_range("five");
  return *static_cast<const int*>(a) - *static_cast<const int*>(b);
}
}  // namespace

/// The exception crosses libc's frames, which have no language of their own.
std::string throw_through_libc() {
  std::vector<int> numbers{1, 2, 3, 4, 5, 6};
  try {
    std::qsort(numbers.data(), numbers.size(), sizeof(int), refuse);
  } catch (const std::exception& error) {
    return error.what();
  }
  return "nothing";
}
