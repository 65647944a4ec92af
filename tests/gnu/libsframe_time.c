/* What looking up random PCs costs with GNU's libsframe.

       libsframe-time SECTION...

   Prints a line for each section, of version 3: bytes, functions, nanoseconds for a PC, and how many of the PCs have a
   row.  PCs are those between the first function and the end of the last, each as likely as any other, and the same
   number of times in each section.  The library comes without a header here: what is declared below is its public
   interface, as far as it is used. */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef struct sframe_decoder_ctx decoder;

/* sframe_frame_row_entry. */
typedef struct {
  uint32_t start;
  unsigned char words[24];
  unsigned char info;
} row;

static decoder* (*decode)(const char* bytes, size_t size, int* error);
static uint32_t (*function_count)(decoder*);
static int64_t (*start_field_offset)(decoder*, uint32_t function, int* error);
static int (*function_of_v3)(decoder*, uint32_t function, uint32_t* row_count, uint32_t* size, int64_t* start,
                             unsigned char* info, unsigned char* info2, uint8_t* repeat_size);
static int (*find_row)(decoder*, int64_t pc, row*);

static void fail(const char* what, const char* why) {
  fprintf(stderr, "libsframe-time: %s: %s\n", what, why);
  exit(1);
}

static void load(void) {
  void* library = dlopen("libsframe.so.3", RTLD_NOW);
  if (!library) fail("libsframe", dlerror());
  const struct {
    const char* name;
    void* place;
  } symbols[] = {
      {"sframe_decode", &decode},
      {"sframe_decoder_get_num_fidx", &function_count},
      {"sframe_decoder_get_offsetof_fde_start_addr", &start_field_offset},
      {"sframe_decoder_get_funcdesc_v3", &function_of_v3},
      {"sframe_find_fre", &find_row},
  };
  for (size_t i = 0; i < sizeof symbols / sizeof symbols[0]; i++) {
    void* symbol = dlsym(library, symbols[i].name);
    if (!symbol) fail("libsframe", dlerror());
    memcpy(symbols[i].place, &symbol, sizeof symbol);
  }
}

static char* read_all(const char* path, size_t* size) {
  FILE* file = fopen(path, "rb");
  if (!file) fail(path, "cannot be opened");
  fseek(file, 0, SEEK_END);
  *size = (size_t)ftell(file);
  rewind(file);
  char* bytes = malloc(*size + 1);
  if (!bytes || fread(bytes, 1, *size, file) != *size) fail(path, "cannot be read");
  fclose(file);
  return bytes;
}

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
  load();
  for (int i = 1; i < count; i++) measure(arguments[i]);
  return 0;
}
