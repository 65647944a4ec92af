/* What looking up random PCs costs with GNU's libsframe.

       libsframe-time SECTION...

   Prints a line for each section, of version 3: bytes, functions, nanoseconds for a PC, and how many of the PCs have a
   row.  PCs are those between the first function and the end of the last, each as likely as any other, and the same
   number of times in each section. */
#include <time.h>

#include "libsframe.h"

/* From the section's start; returns the function's size. */
static uint32_t function_at(decoder* section, uint32_t i, int64_t* start) {
  uint32_t row_count, size;
  unsigned char info, info2;
  uint8_t repeat_size;
  int error = 0;
  if (function_of_v3(section, i, &row_count, &size, start, &info, &info2, &repeat_size) != 0)
    fail("sframe_decoder_get_funcdesc_v3", "fails");
  *start += start_field_offset(section, i, &error);
  return size;
}

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

enum { pc_count = 200000, rounds = 15 };

static void measure(const char* path) {
  static int64_t pcs[pc_count];
  size_t size;
  int error = 0;
  char* bytes = read_all(path, &size);
  decoder* section = decode(bytes, size, &error);
  if (!section || function_count(section) == 0) fail(path, "libsframe does not take it");
  int64_t first, last;
  function_at(section, 0, &first);
  uint32_t last_size = function_at(section, function_count(section) - 1, &last);
  uint64_t state = 1, span = (uint64_t)(last + last_size - first);
  for (int i = 0; i < pc_count; i++) {
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    pcs[i] = first + (int64_t)(state % span);
  }
  double best = 1e18;
  long with_row = 0;
  for (int round = 0; round < rounds; round++) {
    with_row = 0;
    double begin = now();
    for (int i = 0; i < pc_count; i++) {
      row found;
      with_row += find_row(section, pcs[i], &found) == 0;
    }
    double took = now() - begin;
    if (took < best) best = took;
  }
  printf("| %s | %zu | %u | %.1f | %.0f %% |\n", path, size, function_count(section), best / pc_count,
         100.0 * (double)with_row / pc_count);
  free(bytes);
}

int main(int count, char** arguments) {
  load(NULL, 0);
  for (int i = 1; i < count; i++) measure(arguments[i]);
  return 0;
}
