// Looks up each PC of [BEGIN, END) in the section in FILE by glibc's own reader (sysdeps/generic/sframe-read.c
// of 2.43), as its backtrace() does. A line for each: the PC, and register and offset of the CFA, RA's offset, and FP's
// or "-"; or "none"; or "gives up", where backtrace() starts over by DWARF. usage: glibc-lookup FILE ADDRESS BEGIN END
//
// glibc-lookup FILE: the same for the lines of cfi-rules on standard input, whose PCs count from the section. Prints
// how many are right.

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "rule_counts.h"
#include "sframe-read.h"

enum { page = 4096, pages = 16384 };

/// The section, with nothing behind it that could be read.
static const char* read_section(const char* name) {
  char* const room = mmap(NULL, (pages + 1) * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  FILE* const file = fopen(name, "rb");
  if (room == MAP_FAILED || file == NULL) exit(2);
  const size_t size = fread(room, 1, pages * page, file);
  fclose(file);
  char* const begin = room + pages * page - size;
  memmove(begin, room, size);
  mprotect(room + pages * page, page, PROT_NONE);
  return begin;
}

static void answer(void* section, long pc, char* text) {
  sframe_frame_row_entry row;
  _Unwind_Reason_Code cfa_is, ra_is, fp_is;
  strcpy(text, "none");
  if (__sframe_find_fre(section, (int32_t)pc, &row) != _URC_NO_REASON) return;
  const int cfa = __sframe_fre_get_cfa_offset(section, &row, &cfa_is),
            ra = __sframe_fre_get_ra_offset(section, &row, &ra_is),
            fp = __sframe_fre_get_fp_offset(section, &row, &fp_is);
  if (cfa_is != _URC_NO_REASON || ra_is != _URC_NO_REASON) return;
  text += sprintf(text, "%d %d 0", __sframe_fre_get_base_reg_id(&row) == SFRAME_BASE_REG_SP ? 7 : 6, cfa);
  text += ra == -8 ? sprintf(text, " - 0 0") : sprintf(text, " -1 %d 1", ra);
  fp_is == _URC_NO_REASON ? sprintf(text, " -1 %d 1", fp) : sprintf(text, " - 0 0");
}

static void look_up(sframe_decoder_ctx* section, long pc, long address) {
  sframe_frame_row_entry row;
  _Unwind_Reason_Code cfa_is, ra_is, fp_is;
  if (__sframe_find_fre(section, (int32_t)(pc - address), &row) != _URC_NO_REASON) {
    printf("%ld none\n", pc);
    return;
  }
  const int cfa = __sframe_fre_get_cfa_offset(section, &row, &cfa_is);
  const int ra = __sframe_fre_get_ra_offset(section, &row, &ra_is);
  const int fp = __sframe_fre_get_fp_offset(section, &row, &fp_is);
  if (cfa_is != _URC_NO_REASON || ra_is != _URC_NO_REASON) {
    printf("%ld gives up\n", pc);
    return;
  }
  printf("%ld %s %d %d ", pc, __sframe_fre_get_base_reg_id(&row) == SFRAME_BASE_REG_SP ? "sp" : "fp", cfa, ra);
  if (fp_is == _URC_NO_REASON)
    printf("%d\n", fp);
  else
    puts("-");
}

int main(int count, char** arguments) {
  if (count != 5 && count != 2) return 2;
  setvbuf(stdout, NULL, _IOLBF, 0);  // as far as it comes
  sframe_decoder_ctx section;
  memset(&section, 0, sizeof section);
  if (__sframe_decode(&section, read_section(arguments[1])) != _URC_NO_REASON) {
    puts("refused");
    return 0;
  }
  if (count == 2) return count_answers("=", answer, &section);
  const long address = strtol(arguments[2], NULL, 0), end = strtol(arguments[4], NULL, 0);
  for (long pc = strtol(arguments[3], NULL, 0); pc < end; pc++) look_up(&section, pc, address);
  return 0;
}
