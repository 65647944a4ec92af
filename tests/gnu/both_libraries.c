/* One program that looks up PCs with GNU's libsframe and with libsframe-unwind, by the headers of both. All names of
   libsframe begin with sframe_ and SFRAME_, and those of libsframe-unwind with sframe_unwind_ and SFRAME_UNWIND_.

       both-libraries SECTION

   SECTION holds the bytes of an x86-64 section without flexible FDEs, version 1 for libsframe of binutils 2.40. Prints
   the number of PCs and rows, all of which agree; status 1 at the first PC where the two differ. */
#include <sframe-api.h>
#include <sframe_gen/unwind.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* libsframe counts PCs from the section's start. For the view the section is somewhere in the middle of the addresses.
 */
static const uint64_t address = UINT64_C(1) << 40;
enum { rbp = 6, rsp = 7 };

static void fail(const char* what, const char* why) {
  printf("%s: %s\n", what, why);
  exit(1);
}

static char* read_all(const char* path, size_t* size) {
  FILE* file = fopen(path, "rb");
  char* bytes = malloc(1 << 20);
  if (!file || !bytes) fail(path, "cannot be read");
  *size = fread(bytes, 1, 1 << 20, file);
  fclose(file);
  return bytes;
}

/* The getters want the FDE's type since binutils 2.46, which brought flexible ones. */
#ifdef SFRAME_FDE_TYPE_DEFAULT
#define CFA_OFFSET(decoder, row, error) sframe_fre_get_cfa_offset(decoder, row, SFRAME_FDE_TYPE_DEFAULT, error)
#define FP_OFFSET(decoder, row, error) sframe_fre_get_fp_offset(decoder, row, SFRAME_FDE_TYPE_DEFAULT, error)
#else
#define CFA_OFFSET sframe_fre_get_cfa_offset
#define FP_OFFSET sframe_fre_get_fp_offset
#endif

/* The row of libsframe as text; "none" if it has none. */
static void by_libsframe(sframe_decoder_ctx* decoder, uint64_t pc, char text[64]) {
  sframe_frame_row_entry row;
  int error = 0;
  snprintf(text, 64, "none");
  if (sframe_find_fre(decoder, (int64_t)(pc - address), &row) != 0) return;
  int base = sframe_fre_get_base_reg_id(&row, &error) == SFRAME_BASE_REG_SP ? rsp : rbp;
  int cfa = CFA_OFFSET(decoder, &row, &error);
  if (error != 0) return;
  int fp = FP_OFFSET(decoder, &row, &error);
  if (error != 0)
    snprintf(text, 64, "CFA r%d%+d", base, cfa);
  else
    snprintf(text, 64, "CFA r%d%+d, FP at CFA%+d", base, cfa, fp);
}

static void by_view(const sframe_unwind_view* view, uint64_t pc, char text[64], uint64_t* end) {
  sframe_unwind_row row;
  snprintf(text, 64, "none");
  if (sframe_unwind_view_lookup_stretch(view, pc, &row, end) != SFRAME_UNWIND_LOOKUP_ROW) return;
  if (row.frame_pointer.base == SFRAME_UNWIND_BASE_CFA)
    snprintf(text, 64, "CFA r%d%+d, FP at CFA%+d", (int)row.cfa.base, (int)row.cfa.offset,
             (int)row.frame_pointer.offset);
  else
    snprintf(text, 64, "CFA r%d%+d", (int)row.cfa.base, (int)row.cfa.offset);
}

int main(int count, char** arguments) {
  if (count != 2) return 2;
  size_t size;
  char* bytes = read_all(arguments[1], &size);
  sframe_unwind_view view;
  int problem = sframe_unwind_view_open(&view, bytes, size, address, 0);
  if (problem != 0) fail("libsframe-unwind", sframe_unwind_view_problem(problem));
  int error = 0;
  sframe_decoder_ctx* decoder = sframe_decode(bytes, size, &error);
  if (!decoder) fail("libsframe", sframe_errmsg(error));

  long pcs = 0, rows = 0;
  for (uint64_t pc = 0, end = 0; pc != UINT64_MAX; pc = end) {
    char expected[64], found[64];
    by_view(&view, pc, expected, &end);
    if (pc == 0 || end == UINT64_MAX) continue; /* before and after all functions: further than libsframe counts */
    for (uint64_t at = pc;; at = end - 1) {
      by_libsframe(decoder, at, found);
      pcs++;
      if (strcmp(found, expected) != 0) {
        printf("pc section%+lld: libsframe says '%s', libsframe-unwind '%s'\n", (long long)(at - address), found,
               expected);
        return 1;
      }
      if (at == end - 1) break;
    }
    rows += strcmp(expected, "none") != 0;
  }
  printf("%ld PCs, %ld rows\n", pcs, rows);
  return 0;
}
