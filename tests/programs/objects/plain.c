#include <stdlib.h>

static int compare(const void* a, const void* b) {
  return *(const int*)a - *(const int*)b;
}

int plain(int i) {
  int numbers[] = {5, i, 3};
  qsort(numbers, 3, sizeof *numbers, compare);
  if (__builtin_expect(numbers[0] > 100, 0)) abort();
  return numbers[1];
}

int unused_in_c(int i) {
  return plain(i) + 1;
}
