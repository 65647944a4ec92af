/* Converts FILE to OUTPUT, verifies the result, decodes its section, and looks up each function's first PC. */
#include <inttypes.h>
#include <sframe_gen/sframe_gen.h>
#include <stdio.h>

static void report(void *context, int about, const char *text) {
  fprintf((FILE *)context, "%s: %s\n", about == SFRAME_GEN_WARNING ? "warning" : "difference", text);
}

static int fail(void) {
  fprintf(stderr, "%s\n", sframe_gen_message());
  return 1;
}

int main(int count, char **arguments) {
  if (count != 3) {
    fprintf(stderr, "usage: sections FILE OUTPUT\n");
    return 2;
  }
  const char *const output = arguments[2];
  sframe_gen_options options = {.size = sizeof options, .report = report, .context = stderr};
  sframe_gen_result result = {.size = sizeof result};
  if (sframe_gen_convert(arguments[1], output, &options, &result) != SFRAME_GEN_OK) return fail();
  printf("%" PRIu64 " of %" PRIu64 " bytes of code covered by %" PRIu64 " rows\n", result.covered_bytes,
         result.described_bytes, result.rows);

  sframe_gen_verification verification = {.size = sizeof verification};
  if (sframe_gen_verify(output, &options, &verification) != SFRAME_GEN_OK) return fail();
  printf("%" PRIu64 " PCs compared, %" PRIu64 " differences\n", verification.checked_pcs, verification.differences);

  sframe_gen_section *section = NULL;
  if (sframe_gen_read(output, 0, &section) != SFRAME_GEN_OK) return fail();
  sframe_gen_section_info info = {.size = sizeof info};
  int status = sframe_gen_section_describe(section, &info);
  uint64_t found = 0;
  for (uint64_t i = 0; status == SFRAME_GEN_OK && i < info.functions; ++i) {
    sframe_gen_function function = {.size = sizeof function};
    status = sframe_gen_section_function(section, i, &function);
    int kind = SFRAME_UNWIND_LOOKUP_NOTHING;
    sframe_unwind_row row;
    if (status == SFRAME_GEN_OK) status = sframe_gen_section_lookup(section, function.start, &kind, &row);
    found += kind == SFRAME_UNWIND_LOOKUP_ROW || kind == SFRAME_UNWIND_LOOKUP_OUTERMOST;
  }
  sframe_gen_section_free(section);
  if (status != SFRAME_GEN_OK) return fail();
  printf("SFrame version %" PRIu32 ": %" PRIu64 " functions, %" PRIu64 " of them begin with a row\n", info.sframe_version,
         info.functions, found);
  return verification.differences == 0 ? 0 : 1;
}
