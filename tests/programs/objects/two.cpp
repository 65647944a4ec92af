#include "shared.hpp"

static __attribute__((noinline)) int local(int i) {
  return i + 9;
}

int other_part(int i) {
  try {
    return static_cast<int>(Limited<long>{3}.checked(i)) + local(i);
  } catch (const std::out_of_range&) {
    return twice(i);
  }
}

int unused_part_of_two(int i) {
  return never_called(i) - 1;
}
