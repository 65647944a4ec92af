/* Makes a function at run time, and walks through it: from what it calls, and from a signal that interrupts it. */
#define _GNU_SOURCE
#include <sframe_gen/sframe_gen.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>

/* void function(void (*callback)(void)): calls it, and stops at a breakpoint. */
static const unsigned char instructions[] = {
    0x55,             /* 0: push rbp */
    0x48, 0x89, 0xe5, /* 1: mov rbp, rsp */
    0xff, 0xd7,       /* 4: call rdi */
    0xcc,             /* 6: int3 */
    0x5d,             /* 7: pop rbp */
    0xc3,             /* 8: ret */
};

enum { MOST = 64, RBP = 6, RSP = 7 }; /* registers as DWARF numbers them */

static void *frames[2][MOST]; /* of the callback, and of the signal */
static int counts[2], stop;

static void on_call(void) {
  counts[0] = sframe_unwind_backtrace(frames[0], MOST);
}

static void on_signal(int number, siginfo_t *info, void *context) {
  (void)number, (void)info;
  counts[1] = sframe_unwind_backtrace_stop(frames[1], MOST, context, &stop);
}

/* A row of the function: its CFA, and where the caller's rbp is if the function has saved it. */
static int add_row(sframe_gen_section *section, uint32_t pc_offset, uint32_t base, int32_t offset, int is_saved) {
  sframe_unwind_row row = {.cfa = {base, offset, 0}, .return_address = {SFRAME_UNWIND_BASE_CFA, -8, 1}};
  row.frame_pointer = is_saved ? (sframe_unwind_rule){SFRAME_UNWIND_BASE_CFA, -16, 1} : (sframe_unwind_rule){RBP, 0, 0};
  return sframe_gen_section_add_row(section, SFRAME_UNWIND_LOOKUP_ROW, &row, pc_offset);
}

/* Tells the backtrace of the function. Returns 1 if that worked. */
static int add_code(const unsigned char *code) {
  sframe_gen_section *section = NULL;
  void *bytes = NULL;
  size_t size = 0;
  const sframe_gen_function function = {.size = sizeof function, .start = (uintptr_t)code, .code_size = sizeof instructions};
  const int made = sframe_gen_section_new(SFRAME_GEN_ABI_AMD64, (uintptr_t)code, &section) == SFRAME_GEN_OK &&
                   sframe_gen_section_add_function(section, &function) == SFRAME_GEN_OK &&
                   add_row(section, 0, RSP, 8, 0) == SFRAME_GEN_OK && add_row(section, 1, RSP, 16, 1) == SFRAME_GEN_OK &&
                   add_row(section, 4, RBP, 16, 1) == SFRAME_GEN_OK && add_row(section, 8, RSP, 8, 0) == SFRAME_GEN_OK &&
                   sframe_gen_encode(section, NULL, &bytes, &size) == SFRAME_GEN_OK;
  if (!made) fprintf(stderr, "%s\n", sframe_gen_message());
  const int error =
      made ? sframe_unwind_backtrace_add(code, code + sizeof instructions, bytes, size, (uintptr_t)code) : 0;
  if (error != 0) fprintf(stderr, "%s\n", strerror(error));
  /* The backtrace has copied it. */
  sframe_gen_free(bytes);
  sframe_gen_section_free(section);
  return made && error == 0;
}

/* Whether frame `at` is at that offset in the function, and the last one is that of the program's entry. */
static int is_whole(const unsigned char *code, int stack, int at, int pc_offset) {
  const int count = counts[stack];
  const int found = count > at && frames[stack][at] == code + pc_offset;
  const int whole = found && (uintptr_t)frames[stack][count - 1] - getauxval(AT_ENTRY) < 64;
  printf("%s: %s\n", stack == 0 ? "from the callback" : "from the signal", whole ? "the whole stack" : "not the whole stack");
  return whole;
}

int main(void) {
  sframe_gen_translated_sections *sections = NULL;
  if (sframe_gen_translated_sections_new(NULL, &sections) != SFRAME_GEN_OK) return 1;
  if (sframe_unwind_backtrace_prepare_with(sframe_gen_translated_sections_provide, sections, SFRAME_UNWIND_PROVIDE_ALL) != 0)
    return 1;
  const struct sigaction action = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO};
  sigaction(SIGTRAP, &action, NULL);

  unsigned char *const code = mmap(NULL, sizeof instructions, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (code == MAP_FAILED) return 1;
  memcpy(code, instructions, sizeof instructions);
  if (mprotect(code, sizeof instructions, PROT_READ | PROT_EXEC) != 0 || !add_code(code)) return 1;
  void (*function)(void (*)(void)) = NULL;
  memcpy(&function, &code, sizeof function);
  function(on_call);

  /* Before the memory has other contents. */
  if (sframe_unwind_backtrace_remove(code) != 0) return 1;
  munmap(code, sizeof instructions);
  sframe_unwind_backtrace_release();
  sframe_gen_translated_sections_free(sections);
  const int called = is_whole(code, 0, 1, 6), interrupted = is_whole(code, 1, 0, 7);
  return called && interrupted && stop == SFRAME_UNWIND_OUTERMOST ? 0 : 1;
}
