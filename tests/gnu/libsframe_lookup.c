/* Looks up PCs with GNU's libsframe and holds each answer against the line that expected-rows
   wrote for it.

       libsframe-lookup SECTION <LINES

   Prints the first differences and, at the end, the number of answers of each kind.

       libsframe-lookup SECTION rules <RULES

   The same for the lines of cfi-rules, of x86-64. */
#include <stdbool.h>

#include "libsframe.h"
#include "rule_counts.h"

enum { default_descriptor = 0, flexible_descriptor = 1 };

/* What the section says of itself. */
static struct {
  uint8_t abi; /* SFRAME_ABI_* */
  uint8_t version;
  int fixed_ra; /* 0: none */
  int stack_pointer, frame_pointer;
} header;

enum { aarch64_big = 1, aarch64_little = 2, amd64 = 3, s390x = 4 };

static uint8_t (*abi_of)(decoder*);
static uint8_t (*version_of)(decoder*);
static int8_t (*fixed_ra_offset)(decoder*);
static int (*function_of_v2)(decoder*, uint32_t function, uint32_t* row_count, uint32_t* size, int32_t* start,
                             unsigned char* info, uint8_t* repeat_size);
static int32_t (*cfa_offset)(decoder*, row*, uint32_t type, int* error);
static int32_t (*fp_offset)(decoder*, row*, uint32_t type, int* error);
static int32_t (*ra_offset)(decoder*, row*, uint32_t type, int* error);
static uint8_t (*base_register)(row*, int* error);
static bool (*ra_undefined)(decoder*, row*, int* error);
static bool (*ra_mangled)(decoder*, row*, int* error);
static uint32_t (*data_word)(row*, int index, int* error);
static const char* (*message_of)(int error);

static void load_all(void) {
  const struct wanted others[] = {
      {"sframe_decoder_get_abi_arch", &abi_of},
      {"sframe_decoder_get_version", &version_of},
      {"sframe_decoder_get_fixed_ra_offset", &fixed_ra_offset},
      {"sframe_decoder_get_funcdesc_v2", &function_of_v2},
      {"sframe_fre_get_cfa_offset", &cfa_offset},
      {"sframe_fre_get_fp_offset", &fp_offset},
      {"sframe_fre_get_ra_offset", &ra_offset},
      {"sframe_fre_get_base_reg_id", &base_register},
      {"sframe_fre_get_ra_undefined_p", &ra_undefined},
      {"sframe_fre_get_ra_mangled_p", &ra_mangled},
      {"sframe_get_fre_udata", &data_word},
      {"sframe_errmsg", &message_of},
  };
  load(others, sizeof others / sizeof others[0]);
}

/* Numbers of SP and FP: the psABI documents. */
static void read_header(decoder* section) {
  header.abi = abi_of(section);
  header.version = version_of(section);
  header.fixed_ra = fixed_ra_offset(section);
  switch (header.abi) {
    case amd64:
      header.stack_pointer = 7, header.frame_pointer = 6;
      break;
    case aarch64_big:
    case aarch64_little:
      header.stack_pointer = 31, header.frame_pointer = 29;
      break;
    case s390x:
      header.stack_pointer = 15, header.frame_pointer = 11;
      break;
    default:
      fail("sframe_decoder_get_abi_arch", "unknown ABI");
  }
}

/* Functions by start, as the library gives them: its lookup does not say which one it used. */
struct function {
  int64_t start;
  uint32_t size;
  unsigned char info, info2;
};

static struct function* functions;
static uint32_t functions_read;

static int read_function(decoder* section, uint32_t i, struct function* f) {
  uint32_t row_count;
  uint8_t repeat_size;
  if (header.version != 2)
    return function_of_v3(section, i, &row_count, &f->size, &f->start, &f->info, &f->info2, &repeat_size);
  int32_t start;
  int status = function_of_v2(section, i, &row_count, &f->size, &start, &f->info, &repeat_size);
  f->start = start;
  f->info2 = default_descriptor;
  return status;
}

static void read_functions(decoder* section) {
  functions_read = function_count(section);
  functions = calloc(functions_read + 1, sizeof *functions);
  for (uint32_t i = 0; i < functions_read; i++) {
    int error = 0;
    struct function* f = &functions[i];
    if (read_function(section, i, f) != 0) fail("sframe_decoder_get_funcdesc", "fails");
    f->start += start_field_offset(section, i, &error);
    if (error) fail("sframe_decoder_get_offsetof_fde_start_addr", message_of(error));
  }
}

static const struct function* function_at(int64_t pc) {
  uint32_t low = 0, high = functions_read;
  while (low < high) {
    uint32_t middle = low + (high - low) / 2;
    if (functions[middle].start <= pc) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low > 0 && pc - functions[low - 1].start < functions[low - 1].size ? &functions[low - 1] : NULL;
}

/* Control word and offset to "BASE OFFSET DEREFERENCED". */
static void print_flexible(char** end, uint32_t control, int32_t offset) {
  int base = control & 1 ? (int)(control >> 3) : -1;
  *end += sprintf(*end, " %d %d %d", base, offset, (int)(control >> 1 & 1));
}

/* What stands for a return address without a rule: its fixed place, where the ABI has one. */
static void print_no_ra(char** end, int offset, int missing) {
  *end += sprintf(*end, " - 0 0");
  if (header.fixed_ra ? missing || offset != header.fixed_ra : !missing && offset != 0)
    *end += sprintf(*end, " (RA at %d)", offset);
}

static void describe_flexible(decoder* section, row* found, char** text) {
  int error = 0, missing = 0, no_ra = 0;
  print_flexible(text, data_word(found, 0, &error), cfa_offset(section, found, flexible_descriptor, &error));
  /* A row without RA and FP ends here; a padding word stands for the RA where only the FP has a rule, and then the
     library's RA offset is the word behind the padding and means nothing. */
  uint32_t ra = data_word(found, 2, &missing);
  int at = ra_offset(section, found, flexible_descriptor, &no_ra);
  if (missing) {
    print_no_ra(text, at, no_ra);
  } else if (ra == 0) {
    *text += sprintf(*text, " - 0 0");
  } else {
    print_flexible(text, ra, at);
    error |= no_ra;
  }
  int fp_at = !missing && ra == 0 ? 3 : 4;
  missing = 0;
  uint32_t fp = data_word(found, fp_at, &missing);
  if (missing) {
    *text += sprintf(*text, " - 0 0");
  } else {
    print_flexible(text, fp, fp_offset(section, found, flexible_descriptor, &error));
  }
  if (error) *text += sprintf(*text, " (%s)", message_of(error));
}

/* In a slot of the frame; in version 2 on s390x an odd number names a register. */
static void print_saved(char** end, int offset) {
  if (header.abi == s390x && header.version == 2 && (offset & 1)) {
    *end += sprintf(*end, " %d 0 0", offset >> 1);
  } else {
    *end += sprintf(*end, " -1 %d 1", offset);
  }
}

static void describe_default(decoder* section, row* found, char** text) {
  int error = 0, no_ra = 0, no_fp = 0;
  int base = base_register(found, &error) == 1 ? header.stack_pointer : header.frame_pointer;
  *text += sprintf(*text, " %d %d 0", base, cfa_offset(section, found, default_descriptor, &error));
  int ra = ra_offset(section, found, default_descriptor, &no_ra);
  /* s390x pads with an RA offset of 0. */
  if (header.fixed_ra || no_ra || (header.abi == s390x && ra == 0)) {
    print_no_ra(text, ra, no_ra);
  } else {
    print_saved(text, ra);
  }
  int fp = fp_offset(section, found, default_descriptor, &no_fp);
  if (no_fp) {
    *text += sprintf(*text, " - 0 0");
  } else {
    print_saved(text, fp);
  }
  if (error) *text += sprintf(*text, " (%s)", message_of(error));
}

/* The library's answer in the words of expected-rows. */
static void describe(decoder* section, int64_t pc, char* text) {
  row found;
  memset(&found, 0, sizeof found);
  if (find_row(section, pc, &found) != 0) {
    strcpy(text, "none");
    return;
  }
  int error = 0;
  if (ra_undefined(section, &found, &error)) {
    strcpy(text, error ? "ra_undefined fails" : "undefined");
    return;
  }
  const struct function* function = function_at(pc);
  if (!function) {
    strcpy(text, "a row without a function");
    return;
  }
  bool flexible = (function->info2 & 31) == flexible_descriptor;
  bool mask = (function->info & 16) != 0;
  strcpy(text, mask ? "mask" : flexible ? "flexible" : "default");
  text += strlen(text);
  if (flexible) {
    describe_flexible(section, &found, &text);
  } else {
    describe_default(section, &found, &text);
  }
  if (ra_mangled(section, &found, &error)) strcpy(text, function->info & 32 ? " signed-b" : " signed-a");
}

/* Without the kind of FDE: CFI knows none. */
static void answer_of_rules(void* section, long pc, char* text) {
  char described[256];
  describe(section, pc, described);
  const char* const rule = strchr(described, ' ');
  strcpy(text, rule ? rule + 1 : described);
}

int main(int count, char** arguments) {
  static const char* const kinds[] = {"none", "undefined", "default", "flexible", "mask"};
  enum { kind_count = sizeof kinds / sizeof kinds[0] };
  long seen[kind_count] = {0}, is_signed = 0, differences = 0;
  if (count != 2 && count != 3) return 2;
  load_all();
  size_t size;
  int error = 0;
  char* bytes = read_all(arguments[1], &size);
  decoder* section = decode(bytes, size, &error);
  if (!section) fail("sframe_decode", message_of(error));
  read_header(section);
  read_functions(section);
  if (count == 3) return count_answers(header.version == 2 ? "=" : "=+u", answer_of_rules, section);

  char line[256], answer[256];
  while (fgets(line, sizeof line, stdin)) {
    char* expected;
    int64_t pc = strtoll(line, &expected, 10);
    expected++;
    expected[strcspn(expected, "\n")] = 0;
    describe(section, pc, answer);
    if (strcmp(answer, expected) != 0) {
      if (differences++ < 10)
        printf("pc section%+ld: expected '%s', libsframe says '%s'\n", (long)pc, expected, answer);
      continue;
    }
    is_signed += strstr(answer, " signed-") != NULL;
    for (int i = 0; i < kind_count; i++) seen[i] += strncmp(answer, kinds[i], strlen(kinds[i])) == 0;
  }
  for (int i = 0; i < kind_count; i++) printf("%s %ld\n", kinds[i], seen[i]);
  printf("signed %ld\n", is_signed);
  printf("differences %ld\n", differences);
  return differences != 0;
}
