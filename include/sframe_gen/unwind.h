/* Walking stacks by .sframe sections, for C and whatever calls C. What each means is told in unwind.hpp and view.hpp. Nothing
   here but sframe_backtrace_prepare() and sframe_backtrace_release() allocates or locks, so signal handlers may call it.

   Structures of the caller's keep their size and layout; those that may grow begin with their size. */
#ifndef SFRAME_GEN_UNWIND_H
#define SFRAME_GEN_UNWIND_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Sections. */

typedef struct sframe_view {
  uint64_t opaque[16];
} sframe_view;

enum {
  SFRAME_VIEW_CTF_FRAME = 1,   /* a .ctf_frame section, which cannot be told from .sframe of version 1 */
  SFRAME_VIEW_TRUST = 2        /* check the header alone: constant time, never a wild read, but damage may give wrong rows */
};

/* 0, or what is wrong, for sframe_view_problem(). `bytes` must outlive the view. */
int sframe_view_open(sframe_view *view, const void *bytes, size_t size, uint64_t address, unsigned flags);
const char *sframe_view_problem(int problem);

/* Where the look-ups of one page of code begin. */
typedef struct sframe_page_slot {
  uint32_t opaque[4];
} sframe_page_slot;

/* How many slots a table of pages takes; 0: it would be of no use. `page_size` is a power of two; 1024 is a good one. */
uint64_t sframe_view_page_slots(const sframe_view *view, uint64_t page_size);
/* Makes the view's look-ups faster by a table in `slots`, which must outlive it. With fewer slots pages are larger. */
void sframe_view_use_pages(sframe_view *view, sframe_page_slot *slots, size_t count);

enum { SFRAME_LOOKUP_NOTHING = 0, SFRAME_LOOKUP_ROW = 1, SFRAME_LOOKUP_OUTERMOST = 2, SFRAME_LOOKUP_DAMAGED = 3 };

#define SFRAME_BASE_CFA UINT32_C(0xffffffff)

/* base + offset, or what is stored there. */
typedef struct sframe_rule {
  uint32_t base; /* DWARF number of a register, or SFRAME_BASE_CFA */
  int32_t offset;
  uint32_t dereferenced;
} sframe_rule;

typedef struct sframe_row {
  sframe_rule cfa, return_address, frame_pointer;
  uint32_t mangled_ra, b_key, signal_frame;
  uint64_t function_start;
  uint32_t function_size, descriptor, row_number, reserved;
} sframe_row;

/* Which of SFRAME_LOOKUP_…; `row` is filled as far as that has one. */
int sframe_view_lookup(const sframe_view *view, uint64_t pc, sframe_row *row);

/* Stacks of any process. */

typedef struct sframe_registers {
  uint64_t pc;
  uint64_t values[32]; /* by DWARF number */
  uint32_t known;      /* bit n: values[n] is known */
  uint32_t pc_is_exact; /* 1: an interrupted instruction's; 0: a return address */
} sframe_registers;

enum {
  SFRAME_STEPPED = 0,
  SFRAME_OUTERMOST,
  SFRAME_NO_MODULE,
  SFRAME_NO_SECTION,
  SFRAME_NO_ROW,
  SFRAME_UNREADABLE_MEMORY,
  SFRAME_UNKNOWN_REGISTER,
  SFRAME_NO_PROGRESS,
  SFRAME_BAD_SECTION
};
const char *sframe_stop_text(int stop);

/* Copies the 8 bytes at `address` to `bytes`, and returns 1; or returns 0. */
typedef int (*sframe_read)(void *context, uint64_t address, void *bytes);

typedef struct sframe_module {
  uint64_t begin, end, bias;
  const sframe_view *view; /* null: it has no section */
} sframe_module;

/* One remembered row; zeros are an empty slot. */
typedef struct sframe_row_slot {
  uint64_t opaque[4];
} sframe_row_slot;

typedef struct sframe_walked {
  size_t size; /* sizeof(sframe_walked) */
  const sframe_module *modules;
  size_t module_count;
  sframe_read read;
  void *context;
  uint64_t signature_mask;
  sframe_row_slot *rows;
  size_t row_slots; /* a power of two, or 0 */
} sframe_walked;

/* One of SFRAME_STEPPED…; the registers stay as they are unless it is that. */
int sframe_step(const sframe_walked *walked, sframe_registers *registers);

/* Fills `pcs` from the innermost frame outwards and returns how many; `stop` is SFRAME_STEPPED if there was no more room. */
size_t sframe_walk(const sframe_walked *walked, sframe_registers *registers, uint64_t *pcs, size_t capacity, int *stop);

/* The stack of this thread. */

/* Looks at the loaded files and checks their sections; to be called before the first walk. After dlopen() and dlclose() it
   makes walks through what was loaded faster; where nothing has changed since, it costs next to nothing. Not for signal
   handlers. 0, or an errno. */
int sframe_backtrace_prepare(void);
/* Gives back what that took. */
void sframe_backtrace_release(void);

/* As backtrace() of glibc: return addresses, the caller's first. Returns how many. Works in a signal handler, and in a thread
   of its own while another one prepares. */
int sframe_backtrace(void **buffer, int size);
/* The same from where a signal has come; `ucontext` is its handler's third argument. The first is the PC itself. */
int sframe_backtrace_interrupted(void **buffer, int size, const void *ucontext);
/* Both say why they stopped: SFRAME_STEPPED if the buffer is full. */
int sframe_backtrace_stop(void **buffer, int size, const void *ucontext, int *stop);

/* A section for a loaded file; returns 0 or an errno of its own choice. `file` is as dl_iterate_phdr() names it, "" for the
   program. The bytes must stay until sframe_backtrace_release(). */
typedef int (*sframe_provide)(void *context, const char *file, uint64_t bias, const void **bytes, size_t *size,
                              uint64_t *address);
enum {
  SFRAME_PROVIDE_MISSING = 0, /* for files that have none, or a damaged one */
  SFRAME_PROVIDE_ALL = 1,     /* for all: it says what the file's own section leaves out */
  SFRAME_KEEP_FILES = 2       /* and what is loaded now is never unloaded: walks need not ask whether it is there still */
};
/* As sframe_backtrace_prepare(), with sections from `provide`, which is asked once a file and may call neither this nor dlopen().
   `address` is the file's own, without `bias`. Later calls with other or no `provide` keep what was provided. */
int sframe_backtrace_prepare_with(sframe_provide provide, void *context, unsigned flags);

#ifdef __cplusplus
}
#endif

#endif
