// What both parts of the program include: functions that each compiles and the linker keeps once.
#pragma once

#include <stdexcept>

inline __attribute__((noinline)) int twice(int i) {
  return 2 * i;
}
inline __attribute__((noinline)) int never_called(int i) {
  return twice(i) + 7;
}

template <typename Number>
struct Limited {
  Number limit;
  __attribute__((noinline)) Number checked(Number n) const {
    if (n > limit) throw std::out_of_range("beyond the limit");
    return n + twice(1);
  }
};

extern "C" int plain(int i);
int other_part(int i);
