/* GNU's libsframe, which comes without a header here: what is declared below is its public interface, as far as two
   programs use it. */
#ifndef TESTS_GNU_LIBSFRAME_H
#define TESTS_GNU_LIBSFRAME_H

#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
  printf("%s: %s\n", what, why);
  exit(1);
}

/* A function of the library, and the pointer to it. */
struct wanted {
  const char* name;
  void* place;
};

static void load_each(void* library, const struct wanted* symbols, size_t count) {
  for (size_t i = 0; i < count; i++) {
    void* symbol = dlsym(library, symbols[i].name);
    if (!symbol) fail("libsframe", dlerror());
    memcpy(symbols[i].place, &symbol, sizeof symbol);
  }
}

/* Those above, and `others`. */
static void load(const struct wanted* others, size_t other_count) {
  void* library = dlopen("libsframe.so.3", RTLD_NOW);
  if (!library) fail("libsframe", dlerror());
  const struct wanted common[] = {
      {"sframe_decode", &decode},
      {"sframe_decoder_get_num_fidx", &function_count},
      {"sframe_decoder_get_offsetof_fde_start_addr", &start_field_offset},
      {"sframe_decoder_get_funcdesc_v3", &function_of_v3},
      {"sframe_find_fre", &find_row},
  };
  load_each(library, common, sizeof common / sizeof common[0]);
  load_each(library, others, other_count);
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

#endif
