/* Walks before constructors ran, in one, and in main. The library is not prepared for the first one. */
#include <execinfo.h>
#include <stdio.h>

static int before_start, in_constructor;

static void walk_before_start(int count, char **arguments, char **environment) {
  void *pcs[16];
  (void)count, (void)arguments, (void)environment;
  before_start = backtrace(pcs, 16);
}
__attribute__((section(".preinit_array"), used)) static void (*const first)(int, char **, char **) = walk_before_start;

__attribute__((constructor)) static void walk_in_constructor(void) {
  void *pcs[16];
  in_constructor = backtrace(pcs, 16);
}

int main(void) {
  void *pcs[16];
  int in_main = 0;
  for (int i = 0; i != 10; ++i) in_main = backtrace(pcs, 16);
  printf("%d %d %d frames\n", before_start, in_constructor, in_main);
  return before_start < 2 || in_constructor < 2 || in_main < 3;
}
