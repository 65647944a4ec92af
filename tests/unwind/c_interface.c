/* The C interface, from C: a section in place, a stack in an array, and the own stack. Prints what is wrong and returns 1. */
#include <sframe_gen/unwind.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>

static int failures;

#define CHECK(condition) \
  do { \
    if (!(condition)) { \
      printf("%s:%d: %s\n", __FILE__, __LINE__, #condition); \
      ++failures; \
    } \
  } while (0)

/* Version 2, AMD64, at 0x2000: [0x1000, 0x1010) sp+8; [0x1010, 0x1020) sp+16 with FP at CFA-16, then RA undefined. */
static const unsigned char section[] = {
    0xe2, 0xde, 2,    5,    3,    0,    0xf8, 0, 2, 0, 0, 0, 3, 0, 0, 0, 9, 0, 0, 0, 0, 0, 0, 0, 40, 0, 0, 0,
    0xe4, 0xef, 0xff, 0xff, 0x10, 0,    0,    0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0,
    0xe0, 0xef, 0xff, 0xff, 0x10, 0,    0,    0, 3, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0,
    0,    3,    8,
    0,    5,    16,   0xf0,
    8,    1,
};

static const uint64_t stack[] = {0x1014, 0x7777, 0x101a};
enum { stack_at = 0x5000 };

static int read_stack(void *context, uint64_t address, void *bytes) {
  ++*(int *)context;
  if (address < stack_at || address > stack_at + sizeof stack - 8) return 0;
  memcpy(bytes, (const char *)stack + (address - stack_at), 8);
  return 1;
}

static void look_up(const sframe_unwind_view *view) {
  sframe_unwind_row row;
  CHECK(sframe_unwind_view_lookup(view, 0x1000, &row) == SFRAME_UNWIND_LOOKUP_ROW);
  CHECK(row.cfa.base == 7 && row.cfa.offset == 8 && !row.cfa.dereferenced);
  CHECK(row.return_address.base == SFRAME_UNWIND_BASE_CFA && row.return_address.offset == -8 && row.return_address.dereferenced);
  CHECK(row.frame_pointer.base == 6 && row.frame_pointer.offset == 0 && !row.frame_pointer.dereferenced);
  CHECK(row.function_start == 0x1000 && row.function_size == 16 && row.descriptor == 0 && row.row_number == 0);
  CHECK(sframe_unwind_view_lookup(view, 0x1018, &row) == SFRAME_UNWIND_LOOKUP_OUTERMOST && row.descriptor == 1);
  CHECK(sframe_unwind_view_lookup(view, 0x1020, &row) == SFRAME_UNWIND_LOOKUP_NOTHING);
}

static void go_through(const sframe_unwind_view *view) {
  static const struct {
    uint64_t begin;
    int kind;
  } stretches[] = {{0, SFRAME_UNWIND_LOOKUP_NOTHING},        {0x1000, SFRAME_UNWIND_LOOKUP_ROW},     {0x1010, SFRAME_UNWIND_LOOKUP_ROW},
                   {0x1018, SFRAME_UNWIND_LOOKUP_OUTERMOST}, {0x1020, SFRAME_UNWIND_LOOKUP_NOTHING}};
  uint64_t pc = 0, end = 0;
  sframe_unwind_row row;
  size_t i = 0;
  for (; pc != UINT64_MAX; pc = end, ++i) {
    CHECK(i < sizeof stretches / sizeof *stretches);
    CHECK(pc == stretches[i].begin && sframe_unwind_view_lookup_stretch(view, pc, &row, &end) == stretches[i].kind);
  }
  CHECK(i == sizeof stretches / sizeof *stretches);
}

static void walk(const sframe_unwind_view *view) {
  int reads = 0, stop = -1;
  uint64_t pcs[8];
  sframe_unwind_row_slot rows[16] = {{{0}}};
  const sframe_unwind_module module = {.begin = 0x1000, .end = 0x2000, .view = view};
  const sframe_unwind_walked walked = {.size = sizeof walked,
                                       .modules = &module,
                                       .module_count = 1,
                                       .read = read_stack,
                                       .context = &reads,
                                       .rows = rows,
                                       .row_slots = 16};
  sframe_unwind_registers registers = {.pc = 0x1000, .known = 1U << 7, .pc_is_exact = 1};
  registers.values[7] = stack_at;
  CHECK(sframe_unwind_step(&walked, &registers) == SFRAME_UNWIND_STEPPED && registers.pc == 0x1014 && reads == 1);
  CHECK(sframe_unwind_walk(&walked, &registers, pcs, 8, &stop) == 2 && pcs[0] == 0x1014 && pcs[1] == 0x101a);
  CHECK(stop == SFRAME_UNWIND_OUTERMOST && registers.values[6] == 0x7777);
  CHECK(strcmp(sframe_unwind_stop_text(stop), "the outermost frame") == 0);
}

/* A stack that is in this process, and one where it has no memory. */
static void walk_own_memory(const sframe_unwind_view *view) {
  int stop = -1;
  uint64_t pcs[8];
  const uint64_t stack[] = {0x101a, 0};
  const sframe_unwind_module module = {.begin = 0x1000, .end = 0x2000, .view = view};
  const sframe_unwind_walked walked = {
      .size = sizeof walked, .modules = &module, .module_count = 1, .read = sframe_unwind_read_own_memory};
  sframe_unwind_registers registers = {.pc = 0x1000, .known = 1U << 7, .pc_is_exact = 1};
  registers.values[7] = (uintptr_t)stack;
  CHECK(sframe_unwind_walk(&walked, &registers, pcs, 8, &stop) == 2 && pcs[1] == 0x101a && stop == SFRAME_UNWIND_OUTERMOST);
  registers.pc = 0x1000;
  registers.pc_is_exact = 1;
  registers.values[7] = 8;
  CHECK(sframe_unwind_walk(&walked, &registers, pcs, 8, &stop) == 1 && stop == SFRAME_UNWIND_UNREADABLE_MEMORY);
}

static int to_known_code(void *context, sframe_unwind_registers *registers, int why) {
  ++*(int *)context;
  registers->pc = 0x1018;
  registers->pc_is_exact = 1;
  return why == SFRAME_UNWIND_NO_MODULE ? SFRAME_UNWIND_STEPPED : why;
}

static void walk_by_fallback(const sframe_unwind_view *view) {
  int asked = 0, stop = -1;
  uint64_t pcs[8];
  const sframe_unwind_module module = {.begin = 0x1000, .end = 0x2000, .view = view};
  sframe_unwind_walked walked = {.size = sizeof walked, .modules = &module, .module_count = 1, .context = &asked};
  sframe_unwind_registers registers = {.pc = 0x9000, .pc_is_exact = 1};
  CHECK(sframe_unwind_walk(&walked, &registers, pcs, 8, &stop) == 1 && stop == SFRAME_UNWIND_NO_MODULE);
  walked.fallback = to_known_code;
  CHECK(sframe_unwind_walk(&walked, &registers, pcs, 8, &stop) == 2 && pcs[1] == 0x1018 && asked == 1);
  CHECK(stop == SFRAME_UNWIND_OUTERMOST);
  registers.pc = 0x1ff0;
  CHECK(sframe_unwind_step(&walked, &registers) == SFRAME_UNWIND_NO_ROW && registers.pc == 0x1ff0 && asked == 2);
}

static void refuse(const sframe_unwind_view *view) {
  sframe_unwind_view other;
  CHECK(sframe_unwind_view_open(&other, section, sizeof section, 0x2000, 4) == SFRAME_UNWIND_WRONG_ARGUMENT);
  CHECK(sframe_unwind_view_open(&other, section, sizeof section, 0x2000, SFRAME_UNWIND_VIEW_TRUST | 0x80000000U) ==
        SFRAME_UNWIND_WRONG_ARGUMENT);
  sframe_unwind_row row;
  CHECK(sframe_unwind_view_lookup(&other, 0x1000, &row) == SFRAME_UNWIND_LOOKUP_NOTHING);
  CHECK(strstr(sframe_unwind_view_problem(SFRAME_UNWIND_WRONG_ARGUMENT), "flag"));
  CHECK(strstr(sframe_unwind_stop_text(SFRAME_UNWIND_WRONG_ARGUMENT), "size"));
  CHECK(sframe_unwind_backtrace_prepare_with(NULL, NULL, 64) == EINVAL);
  CHECK(sframe_unwind_backtrace_prepare_with(NULL, NULL, SFRAME_UNWIND_KEEP_FILES | 0x80000000U) == EINVAL);

  /* What a later header may have after this one's fields. */
  struct {
    sframe_unwind_walked known;
    uint64_t later;
  } walked = {.later = 0};
  int asked = 0, stop = 0;
  const sframe_unwind_module module = {.begin = 0x1000, .end = 0x2000, .view = view};
  walked.known = (sframe_unwind_walked){.modules = &module, .module_count = 1, .context = &asked, .fallback = to_known_code};
  sframe_unwind_registers registers = {.pc = 0x9000, .pc_is_exact = 1};
  uint64_t pcs[8];
  /* The first version's header ends after `fallback`. */
  const size_t first_size = offsetof(sframe_unwind_walked, fallback) + sizeof walked.known.fallback;
  for (size_t size = 0; size < first_size; ++size) {
    walked.known.size = size;
    CHECK(sframe_unwind_step(&walked.known, &registers) == SFRAME_UNWIND_WRONG_ARGUMENT && registers.pc == 0x9000);
    CHECK(sframe_unwind_walk(&walked.known, &registers, pcs, 8, &stop) == 0 && stop == SFRAME_UNWIND_WRONG_ARGUMENT);
  }
  for (size_t size = first_size; size <= sizeof walked; ++size) {
    walked.known.size = size;
    CHECK(sframe_unwind_step(&walked.known, &registers) == SFRAME_UNWIND_STEPPED && registers.pc == 0x1018);
    registers.pc = 0x9000;
  }
  walked.later = 1;
  CHECK(sframe_unwind_step(&walked.known, &registers) == SFRAME_UNWIND_WRONG_ARGUMENT && registers.pc == 0x9000);
  CHECK(asked == (int)(sizeof walked - first_size + 1));
}

/* The program, as the library sees it in memory. */
static struct {
  int times, has_build_id, has_code;
  const unsigned char *bytes;
} asked;

static int provide(void *context, const sframe_unwind_file *file, const void **bytes, size_t *size, uint64_t *address) {
  static const unsigned char build_id[] = "_rame_id_of_c.";
  if (file->name[0] != 0) return ENOENT;
  CHECK(context == &asked && file->size == sizeof *file);
  ++asked.times;
  asked.has_build_id = file->build_id_size == sizeof build_id - 1 && memcmp(file->build_id, build_id, sizeof build_id - 1) == 0;
  for (size_t i = 0; i < file->code_count; ++i)
    asked.has_code |= (uintptr_t)provide - file->bias - file->code[i].address < file->code[i].size;
  *bytes = asked.bytes;
  *size = sizeof section;
  *address = 0x2000; /* the code that it describes is elsewhere */
  return 0;
}

static int stop_of_walk(void) {
  sframe_unwind_registers registers;
  void *frames[8];
  int stop = -1;
  sframe_unwind_backtrace_here(&registers);
  CHECK(sframe_unwind_backtrace_from(frames, 8, &registers, &stop) == 1);
  CHECK((uintptr_t)frames[0] - (uintptr_t)stop_of_walk < 4000);
  return stop;
}

/* A section whose header is sound and whose rows are not. */
static void ask_for_sections(void) {
  static unsigned char damaged[sizeof section];
  memcpy(damaged, section, sizeof section);
  damaged[sizeof section - 1] = 0x7f; /* more words than the section has */
  asked.bytes = damaged;
  CHECK(sframe_unwind_backtrace_prepare_files(provide, &asked, 0x80000000U) == EINVAL && asked.times == 0);
  CHECK(sframe_unwind_backtrace_prepare_files(provide, &asked, SFRAME_UNWIND_NO_PAGES) == 0);
  CHECK(asked.times == 1 && asked.has_build_id && asked.has_code);
  CHECK(stop_of_walk() == SFRAME_UNWIND_BAD_SECTION);
  sframe_unwind_backtrace_release();
  CHECK(sframe_unwind_backtrace_prepare_files(provide, &asked, SFRAME_UNWIND_TRUST_PROVIDED) == 0);
  CHECK(asked.times == 2 && stop_of_walk() == SFRAME_UNWIND_NO_ROW);
  sframe_unwind_backtrace_release();
}

int main(void) {
  sframe_unwind_view view;
  void *frames[8];
  /* The loaded files are not prepared yet. */
  CHECK(sframe_unwind_backtrace(frames, 8) == 1);
  int problem = sframe_unwind_view_open(&view, section, sizeof section - 1, 0x2000, 0);
  CHECK(problem != 0 && sframe_unwind_view_problem(problem)[0] != 0);
  problem = sframe_unwind_view_open(&view, section, sizeof section, 0x2000, 0);
  if (problem != 0) {
    printf("%s\n", sframe_unwind_view_problem(problem));
    return 1;
  }
  CHECK(sframe_unwind_view_open(&view, section, sizeof section, 0x2000, SFRAME_UNWIND_VIEW_TRUST) == 0);
  look_up(&view);
  go_through(&view);
  CHECK(sframe_unwind_view_page_slots(&view, 512) == 1 && sframe_unwind_view_page_slots(&view, 8) == 3);
  sframe_unwind_page_slot slots[1];
  sframe_unwind_view_use_pages(&view, slots, 1);
  look_up(&view);
  go_through(&view);
  walk(&view);
  walk_own_memory(&view);
  walk_by_fallback(&view);
  refuse(&view);
  ask_for_sections();
  CHECK(strcmp(sframe_unwind_version(), SFRAME_GEN_VERSION_STRING) == 0);
  errno = 77;
  CHECK(sframe_unwind_backtrace_prepare() == 0);
  /* This program has no section, so there is one frame: this one. */
  CHECK(sframe_unwind_backtrace(frames, 8) == 1 && errno == 77);
  CHECK((uintptr_t)frames[0] - (uintptr_t)main < 4000);
  CHECK(sframe_unwind_backtrace(frames, 0) == 0);
  sframe_unwind_backtrace_release();
  CHECK(sframe_unwind_backtrace(frames, 8) == 1);
  return failures != 0;
}
