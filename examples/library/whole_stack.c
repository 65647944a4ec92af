/* Prints its own stack, from print_stack() to _start. No file needs a section: those that have none are translated. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <sframe_gen/sframe_gen.h>
#include <stdio.h>
#include <sys/auxv.h>

/* Returns 1 if the stack is whole: the last frame is that of the program's entry. */
__attribute__((noinline)) int print_stack(void) {
  void *frames[64];
  const int count = sframe_unwind_backtrace(frames, 64);
  for (int i = 0; i < count; ++i) {
    /* A return address may be that of the next function. */
    char *const pc = (char *)frames[i] - 1;
    Dl_info info = {0};
    dladdr(pc, &info);
    if (info.dli_sname != NULL) {
      printf("%s\n", info.dli_sname);
    } else {
      printf("%s+%#tx\n", info.dli_fname != NULL ? info.dli_fname : "?", pc - (char *)info.dli_fbase);
    }
  }
  return count > 0 && (unsigned long)frames[count - 1] - getauxval(AT_ENTRY) < 64;
}

int main(void) {
  sframe_gen_translated_sections *sections = NULL;
  if (sframe_gen_translated_sections_new(NULL, &sections) != SFRAME_GEN_OK) return 1;
  /* What is loaded later is prepared by the next call. */
  if (sframe_unwind_backtrace_prepare_with(sframe_gen_translated_sections_provide, sections, SFRAME_UNWIND_PROVIDE_ALL) != 0)
    return 1;

  const int whole = print_stack();

  const char *file = NULL, *reason = NULL;
  for (size_t i = 0; i < sframe_gen_translated_sections_left_out(sections); ++i) {
    if (sframe_gen_translated_sections_reason(sections, i, &file, &reason) == SFRAME_GEN_OK) fprintf(stderr, "%s\n", reason);
  }
  sframe_unwind_backtrace_release();
  sframe_gen_translated_sections_free(sections);
  return whole ? 0 : 1;
}
