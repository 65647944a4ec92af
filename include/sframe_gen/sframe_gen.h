/* The library sframe_gen for C, and for languages that call C: Python's ctypes, Rust's bindgen. It converts files,
   takes their sections out, translates files in memory, verifies sections and decodes them. convert.hpp, verify.hpp,
   section.hpp and translated_sections.hpp have the same for C++. unwind.h, of another library, looks up rows in place
   and walks stacks.

   Functions that return an `int` called status return one of SFRAME_GEN_… below. Several threads may call them, for
   files of their own. A call that fails leaves every file and every result as it was. Strings end with a zero and are
   UTF-8 or what the file system has. Pointers are not null unless that is said.

   A structure that begins with `size` may grow: set `size` to its sizeof, and the rest to zero. A newer library
   takes fields that your header lacks for zero, and does not write them. */
#ifndef SFRAME_GEN_SFRAME_GEN_H
#define SFRAME_GEN_SFRAME_GEN_H

#include <stddef.h>
#include <stdint.h>

#include "sframe_gen/unwind.h"
#include "sframe_gen/version.h"
#include "sframe_gen/visibility.h"

#ifdef __cplusplus
extern "C" {
#endif

SFRAME_GEN_BEGIN_C

/* Returns the version of the library, "1.0.0". Of the headers: version.h. */
const char* sframe_gen_version(void);

/* A status. Exit statuses of the program are others. */
enum {
  SFRAME_GEN_OK = 0,
  SFRAME_GEN_WRONG_ARGUMENT = 1, /* a null pointer, a `size` below the first header's, an unknown name or flag */
  SFRAME_GEN_MALFORMED = 2,      /* the input breaks its own format */
  SFRAME_GEN_REFUSED = 3,        /* the input is sound, but this cannot be done, or not safely */
  SFRAME_GEN_SYSTEM = 4,         /* the operating system refused: no such file, no permission, no space */
  SFRAME_GEN_NO_MEMORY = 5,
  SFRAME_GEN_BUG = 6 /* the output broke a rule, and was not kept */
};

/* Returns what was wrong with this thread's last call that failed, "FILE: WHY". Valid until its next call; "" if none
   has failed. */
const char* sframe_gen_message(void);

/* Options. */

/* Flags of conversions. */
enum {
  SFRAME_GEN_DRY_RUN = 1,         /* do everything but replace files */
  SFRAME_GEN_FROM_SECTION = 2,    /* take the rows of the section that a linked file has, instead of its CFI */
  SFRAME_GEN_IGNORE_BUILD_ID = 4, /* take `debug_file` even if its build-id differs or is missing */
  SFRAME_GEN_DROP_SIGNATURE = 8,  /* take a kernel module's signature away, which would be wrong */
  SFRAME_GEN_MOVE_HEADERS = 16,   /* where there is no room for program headers, move them to the end of the file */
  SFRAME_GEN_NO_UNDO = 32,        /* keep no undo record, so that sframe_gen_remove() will refuse the file */
  SFRAME_GEN_NO_STUBS = 64,       /* make no rows from the instructions of stubs */
  SFRAME_GEN_SECTION_ONLY = 128,  /* sframe_gen_remove(): if no original can be restored, take out the section */
  SFRAME_GEN_OMIT_DISPROVED =
      256,                    /* leave out rows that the instructions contradict; only for x86-64, requires Zydis */
  SFRAME_GEN_SYNTHESIZE = 512 /* make rows for code without CFI whose instructions prove them; the same */
};

/* What a report is about. */
enum {
  SFRAME_GEN_WARNING = 0,    /* something that does not stop the work */
  SFRAME_GEN_DIFFERENCE = 1, /* a row that is not what the CFI says */
  SFRAME_GEN_UNCHECKED = 2   /* a row whose CFI was stripped or cannot be evaluated */
};
/* Takes a report, whose text is valid during the call. It must return: no exception, no longjmp(). */
typedef void (*sframe_gen_report)(void* context, int about, const char* text);

typedef struct sframe_gen_options {
  size_t size;
  const char*
      reader; /* who is to read the section, as `sframe-gen --list-readers` names it; null: any reader of the version */
  uint32_t sframe_version;  /* 1, 2 or 3; 0: what `reader` supports, or 3. A version that `reader` lacks is a wrong
                               argument */
  uint32_t compact_rows;    /* the most rows of an FDE of a compact section, at most 64; 0: not compact */
  const char* debug_file;   /* its .debug_frame is read as well; null: none */
  uint32_t flags;           /* of SFRAME_GEN_DRY_RUN and those after it */
  uint32_t reserved;        /* 0 */
  sframe_gen_report report; /* null: nothing is reported */
  void* context;            /* for `report` */
} sframe_gen_options;

/* Files. `options` may be null everywhere: the defaults. So may `result`. */

enum { SFRAME_GEN_LINKED = 1, SFRAME_GEN_OBJECT = 2, SFRAME_GEN_KERNEL = 3, SFRAME_GEN_ARCHIVE = 4 };

typedef struct sframe_gen_result {
  size_t size;
  uint32_t kind;            /* of SFRAME_GEN_LINKED and those after it; 0: bytes in memory */
  uint32_t members;         /* of an archive: how many have a section now */
  uint64_t section_address; /* virtual; 0 of objects and archives */
  uint64_t section_size;    /* bytes, of all members */
  int64_t growth;           /* bytes of the file */
  uint64_t functions;       /* whose CFI was read: the sum of the next three */
  uint64_t whole, in_part, left_out;
  uint64_t rows;
  uint64_t described_bytes; /* of code, by CFI */
  uint64_t covered_bytes;   /* of code, by rows */
} sframe_gen_result;

/* Gives a program, library, object, kernel or archive its section, and writes it to `output`, which may be `input`.
   `output` is replaced atomically. */
int sframe_gen_convert(const char* input, const char* output, const sframe_gen_options* options,
                       sframe_gen_result* result);

/* Restores the file that was converted, byte for byte. Of `flags`, only SFRAME_GEN_DRY_RUN and SFRAME_GEN_SECTION_ONLY
   count. With SFRAME_GEN_SECTION_ONLY, a file that has no original is not refused. It loses the section, the program
   header that leads to the section, and the undo record; code and data stay at their addresses. */
int sframe_gen_remove(const char* input, const char* output, uint32_t flags);

typedef struct sframe_gen_verification {
  size_t size;
  uint64_t functions, rows; /* of the section, or of all members' sections */
  uint64_t checked_pcs;     /* at which section and CFI were compared */
  uint64_t differences;     /* rows that are not what the CFI says; the first ones are reported */
  uint64_t unchecked;       /* rows whose CFI was stripped or cannot be evaluated; the first are reported */
  uint64_t left_out;        /* ranges of code with CFI that no row covers */
  uint64_t described_bytes, covered_bytes;
  uint64_t failed_members; /* of an archive: those that could not be checked, which are reported as warnings */
} sframe_gen_verification;

/* Compares the sections of a file with its CFI, as libdwarf reads it, at every PC. SFRAME_GEN_OK says that all was
   compared: look at `differences`. Of `options`, only `debug_file`, SFRAME_GEN_IGNORE_BUILD_ID and `report` count. */
int sframe_gen_verify(const char* file, const sframe_gen_options* options, sframe_gen_verification* result);

/* Sections in memory. */

/* Translates the CFI of a linked file to a section that will be at `address`. `elf`: the file's bytes, not its loaded
   segments. `name` is for messages. Release `*section` by sframe_gen_free(). Of `options`, only the format and the
   debug file count. */
int sframe_gen_translate(const void* elf, size_t size, const char* name, uint64_t address,
                         const sframe_gen_options* options, void** section, size_t* section_size,
                         sframe_gen_result* result);
/* `section` may be null. */
void sframe_gen_free(void* section);

/* Sections of loaded files. */

/* Sections for files of this process that have none, or not for all of their code: translated in memory from the CFI of
   the file on disk, or of the vDSO. A file that was replaced since it was loaded is left out. */
typedef struct sframe_gen_translated_sections sframe_gen_translated_sections;

/* Makes an object without sections. Of `options`, only the format counts. */
int sframe_gen_translated_sections_new(const sframe_gen_options* options, sframe_gen_translated_sections** sections);
/* An sframe_unwind_provide, which translates one file. `context` is the object, which keeps the bytes:

       sframe_unwind_backtrace_prepare_with(sframe_gen_translated_sections_provide, sections,
   SFRAME_UNWIND_PROVIDE_MISSING);

   Returns 0, or an errno and `file` was left out: ENOMEM, or ENOENT and its reason is kept. Not in several threads at a
   time for one object; preparing asks in one thread at a time. */
int sframe_gen_translated_sections_provide(void* context, const char* file, uint64_t bias, const void** bytes,
                                           size_t* size, uint64_t* address);
/* Returns how many files were left out with a reason. */
size_t sframe_gen_translated_sections_left_out(const sframe_gen_translated_sections* sections);
/* Sets `*file` and `*reason` to those of such a file, from 0. They are valid until the next one is left out, and until
   the object is released. The program itself is called "/proc/self/exe". */
int sframe_gen_translated_sections_reason(const sframe_gen_translated_sections* sections, size_t number,
                                          const char** file, const char** reason);
/* Releases the object with all its sections. Before that, call sframe_unwind_backtrace_release(), and let walks that
   had begun before it come to an end. `sections` may be null. */
void sframe_gen_translated_sections_free(sframe_gen_translated_sections* sections);

/* Prepares backtraces with sections for all loaded files that have none. One call is enough for whole stacks; call it
   where sframe_unwind_backtrace_prepare() may be called, from one source file of the program, and again after dlopen().
   It needs both libraries. What it makes stays until the process ends, so that there is nothing to free. Returns
   SFRAME_GEN_OK, or SFRAME_GEN_NO_MEMORY and what was prepared before stays. */
static inline int sframe_gen_backtrace_prepare(void) {
  static sframe_gen_translated_sections* sections;
  if (sections == NULL && sframe_gen_translated_sections_new(NULL, &sections) != SFRAME_GEN_OK)
    return SFRAME_GEN_NO_MEMORY;
  return sframe_unwind_backtrace_prepare_with(sframe_gen_translated_sections_provide, sections,
                                              SFRAME_UNWIND_PROVIDE_MISSING) == 0
             ? SFRAME_GEN_OK
             : SFRAME_GEN_NO_MEMORY;
}

/* A decoded section. It does not refer to the bytes that it was made from, and threads may share it. */
typedef struct sframe_gen_section sframe_gen_section;

enum {
  SFRAME_GEN_CTF_FRAME = 1 /* flag: the section is .ctf_frame, whose bytes cannot be told from .sframe of version 1 */
};

/* Decodes a section whose virtual address is `address`. Anything that contradicts the format is SFRAME_GEN_MALFORMED.
 */
int sframe_gen_decode(const void* bytes, size_t size, uint64_t address, uint32_t flags, sframe_gen_section** section);
/* Decodes the section of a linked file or object: .sframe or, with SFRAME_GEN_CTF_FRAME, .ctf_frame. */
int sframe_gen_read(const char* file, uint32_t flags, sframe_gen_section** section);
/* `section` may be null. */
void sframe_gen_section_free(sframe_gen_section* section);

/* Identifiers of ABIs, with the numbers of the format. */
enum {
  SFRAME_GEN_ABI_AARCH64_BIG = 1,
  SFRAME_GEN_ABI_AARCH64_LITTLE = 2,
  SFRAME_GEN_ABI_AMD64 = 3,
  SFRAME_GEN_ABI_S390X = 4
};

typedef struct sframe_gen_section_info {
  size_t size;
  uint32_t sframe_version; /* 0: CTF Frame */
  uint32_t abi;            /* of SFRAME_GEN_ABI_… */
  uint32_t is_big_endian;
  uint32_t flags; /* of the header, as the format has them */
  uint64_t address;
  uint64_t functions; /* function descriptor entries (FDEs) */
  uint64_t rows;      /* of all functions */
} sframe_gen_section_info;

int sframe_gen_section_describe(const sframe_gen_section* section, sframe_gen_section_info* info);

/* A function descriptor entry: a function, or a part of one. */
typedef struct sframe_gen_function {
  size_t size;
  uint64_t start;     /* virtual address */
  uint32_t code_size; /* bytes */
  uint32_t rows;
  uint32_t repeat_size; /* rows repeat after so many bytes; 0: they do not */
  uint32_t is_flexible;
  uint32_t signal_frame;
  uint32_t b_key; /* aarch64: return addresses are signed with the B key */
} sframe_gen_function;

/* Returns function `number` of the index, from 0. */
int sframe_gen_section_function(const sframe_gen_section* section, size_t number, sframe_gen_function* function);

/* Returns row `number` of a function, from 0, as unwind.h has rows; `*pc_offset` is where it begins, in bytes from the
   start of the function or of the repeated block. `*kind` is SFRAME_UNWIND_LOOKUP_ROW, or
   SFRAME_UNWIND_LOOKUP_OUTERMOST, which has no rules. */
int sframe_gen_section_row(const sframe_gen_section* section, size_t function, size_t number, int* kind,
                           sframe_unwind_row* row, uint32_t* pc_offset);

/* Looks up a PC. `*kind` is SFRAME_UNWIND_LOOKUP_NOTHING, SFRAME_UNWIND_LOOKUP_ROW or SFRAME_UNWIND_LOOKUP_OUTERMOST.
 */
int sframe_gen_section_lookup(const sframe_gen_section* section, uint64_t pc, int* kind, sframe_unwind_row* row);

/* Sections of code that a program has made itself: a compiler at run time, a linker, a rewriter of code. */

/* Makes a section without functions. `abi` is one of SFRAME_GEN_ABI_…; `address` is where the encoded section will be.
 */
int sframe_gen_section_new(uint32_t abi, uint64_t address, sframe_gen_section** section);
/* Adds a function to a section that no other thread uses. Of `function`, the start, code_size, repeat_size,
   signal_frame and b_key count. In version 3, a function without rows is outermost throughout: leave out a function
   whose rows you do not know. */
int sframe_gen_section_add_function(sframe_gen_section* section, const sframe_gen_function* function);
/* Adds a row to the function that was added last. `kind` is SFRAME_UNWIND_LOOKUP_ROW, or
   SFRAME_UNWIND_LOOKUP_OUTERMOST, for which `row` may be null. All three rules of `row` count: where the return address
   or the frame pointer is unchanged, its rule is that register + 0. Rows ascend by `pc_offset`, in bytes from the start
   of the function or of the repeated block. Only sframe_gen_encode() checks this order, and that rows begin inside
   their function. It then returns SFRAME_GEN_REFUSED. */
int sframe_gen_section_add_row(sframe_gen_section* section, int kind, const sframe_unwind_row* row, uint32_t pc_offset);

/* Encodes a section, whether it was decoded or made: each PC keeps its row. Release `*bytes` by sframe_gen_free(). The
   format is that of `options`, of which only `reader`, `sframe_version` and `compact_rows` count; without the first
   two, it is the section's own. A row that the format cannot represent is SFRAME_GEN_REFUSED, and so are functions that
   overlap and rows that do not ascend. */
int sframe_gen_encode(const sframe_gen_section* section, const sframe_gen_options* options, void** bytes, size_t* size);

SFRAME_GEN_END_C

#ifdef __cplusplus
}
#endif

#endif
