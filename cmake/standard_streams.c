/* The C library's streams, by names of our own (SharedLibDwarf.cmake). libdwarf writes to them if it ends the program, for a
   caller that takes no errors. */
#include <stdio.h>

FILE *sframe_gen_stdout;
FILE *sframe_gen_stderr;

__attribute__((constructor)) static void take_streams(void) {
  sframe_gen_stdout = stdout;
  sframe_gen_stderr = stderr;
}
