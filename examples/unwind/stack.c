/* Prints the names of its own frames, found by .sframe. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>

#include <sframe_gen/unwind.h>

__attribute__((noinline)) int inner(void) {
  void *frames[32];
  const int count = sframe_unwind_backtrace(frames, 32);
  for (int i = 0; i < count; ++i) {
    Dl_info info;
    /* A return address may be that of the next function. */
    if (dladdr((char *)frames[i] - 1, &info) != 0 && info.dli_sname != NULL) printf("%s\n", info.dli_sname);
  }
  return count;
}

__attribute__((noinline)) int outer(int more) {
  volatile int large[1000];
  large[more] = more;
  return inner() + large[more];
}

int main(int count, char **arguments) {
  (void)arguments;
  if (sframe_unwind_backtrace_prepare() != 0) return 1;
  return outer(count) < 3;
}
