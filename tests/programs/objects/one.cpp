#include <cstdio>
#include <string>
#include <vector>

#include "shared.hpp"

static __attribute__((noinline)) int local(int i) {
  return i ^ 5;
}
__attribute__((cold, noinline)) int seldom(int i) {
  return twice(i) + local(i);
}
int unused_part(int i) {
  return seldom(i) + never_called(i);
}
static std::vector<int> made_before_main{1, 2, 3};

int main() {
  int sum = 0;
  for (int i = 0; i < 5; ++i) sum += seldom(i) + plain(i) + other_part(i);
  try {
    sum += Limited<long>{3}.checked(4) > 0;
  } catch (const std::exception& error) {
    std::printf("caught %s\n", error.what());
  }
  std::printf("sum %d, %d made before main\n", sum, static_cast<int>(made_before_main.size()));
}
