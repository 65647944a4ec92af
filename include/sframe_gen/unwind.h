/* Walking stacks by .sframe sections, for C and whatever calls C. unwind.hpp and view.hpp have the same for C++.

   Nothing here allocates or locks but the functions that change what backtraces know: …_prepare(), …_prepare_with(),
   …_prepare_files(), …_release(), …_add() and …_remove() of sframe_unwind_backtrace. Nothing changes errno. So signal
   handlers may call the rest. Threads may look up and walk at any time with the same views, modules and row slots; a
   view is opened and gets its pages before others use it. Texts are never null and stay.

   Sizes are in bytes, and ranges hold their begin, but not their end. Pointers are not null where nothing else is said,
   and bytes of sections need no alignment. Structures of the caller's keep their size and layout; those that may grow
   begin with their size. */
#ifndef SFRAME_GEN_UNWIND_H
#define SFRAME_GEN_UNWIND_H

#include <stddef.h>
#include <stdint.h>

#include "sframe_gen/version.h"
#include "sframe_gen/visibility.h"

#ifdef __cplusplus
extern "C" {
#endif

SFRAME_GEN_BEGIN_C

/* Returns the version of the library, "1.0.0". Of the headers: version.h. */
const char* sframe_unwind_version(void);

/* Is returned instead of a problem or a stop if a flag is unknown, or a structure is too small or has unknown fields.
 */
#define SFRAME_UNWIND_WRONG_ARGUMENT (-1)

/* Sections. */

/* A section in memory. May be copied. Zeros are a view of no section. */
typedef struct sframe_unwind_view {
  uint64_t opaque[16];
} sframe_unwind_view;

enum {
  SFRAME_UNWIND_VIEW_CTF_FRAME = 1, /* a .ctf_frame section, which cannot be told from .sframe of version 1 */
  SFRAME_UNWIND_VIEW_TRUST =
      2 /* check the header alone: constant time, never a wild read, but damage may give wrong rows */
};

/* Opens a section. Returns 0, or what is wrong, for sframe_unwind_view_problem(); look-ups then find nothing. `bytes`
   must outlive the view and its copies, and not change. `address` is the section's virtual address, from which the
   starts of functions count; for a section that a loader has placed, where it is in memory, or the file's own address
   with a bias in sframe_unwind_module. `flags` are of SFRAME_UNWIND_VIEW_…; with 0, all of the section is checked, in
   time proportional to its size. With unknown flags, it returns SFRAME_UNWIND_WRONG_ARGUMENT. */
int sframe_unwind_view_open(sframe_unwind_view* view, const void* bytes, size_t size, uint64_t address, unsigned flags);
const char* sframe_unwind_view_problem(int problem);

/* Memory for sframe_unwind_view_use_pages(): where the look-ups in two pages of code begin. */
typedef struct sframe_unwind_page_slot {
  uint32_t opaque[4];
} sframe_unwind_page_slot;

/* Returns how many slots a table of pages takes, or 0 if it would be of no use. `page_size` is a power of two, in bytes
   of code; 512 is a good choice. The slots take at most 1,024 bytes more than the section, however much code it claims.
 */
uint64_t sframe_unwind_view_page_slots(const sframe_unwind_view* view, uint64_t page_size);
/* Makes the view's look-ups faster by a table in `slots`, which must outlive the view and its copies. Pages are as
   small as `count` allows, but at least of 256 bytes; without a slot there is no table. Takes time in proportion to
   functions and rows. */
void sframe_unwind_view_use_pages(sframe_unwind_view* view, sframe_unwind_page_slot* slots, size_t count);

enum {
  SFRAME_UNWIND_LOOKUP_NOTHING = 0, /* the section does not describe this PC */
  SFRAME_UNWIND_LOOKUP_ROW = 1,
  SFRAME_UNWIND_LOOKUP_OUTERMOST = 2, /* there is no caller */
  SFRAME_UNWIND_LOOKUP_DAMAGED = 3    /* the section contradicts the format there: only with SFRAME_UNWIND_VIEW_TRUST */
};

#define SFRAME_UNWIND_BASE_CFA UINT32_C(0xffffffff)

/* base + offset, or what is stored there. */
typedef struct sframe_unwind_rule {
  uint32_t base; /* DWARF number of a register, or SFRAME_UNWIND_BASE_CFA */
  int32_t offset;
  uint32_t dereferenced; /* 1: the 8 bytes stored there, in the byte order of the section's machine */
} sframe_unwind_rule;

/* All rules have a value: the return address that x86-64 fixes is *(CFA - 8); an unchanged register is itself + 0. */
typedef struct sframe_unwind_row {
  sframe_unwind_rule cfa, return_address, frame_pointer;
  uint32_t mangled_ra;     /* aarch64: 1 if the return address is signed, */
  uint32_t b_key;          /* and 1 if with the B key */
  uint32_t signal_frame;   /* 1: the caller was interrupted, and its PC is that of an instruction */
  uint64_t function_start; /* as `pc` counts */
  uint32_t function_size;
  uint32_t descriptor, row_number; /* from 0: the FDE in the index, and the row in the function */
  uint32_t reserved;
} sframe_unwind_row;

/* Looks up a PC, and returns one of SFRAME_UNWIND_LOOKUP_…. `row` gets the rules with SFRAME_UNWIND_LOOKUP_ROW, and the
   function with all but SFRAME_UNWIND_LOOKUP_NOTHING; other fields are 0. `pc` counts as the view's `address` does. For
   a return address, look up the byte before it. */
int sframe_unwind_view_lookup(const sframe_unwind_view* view, uint64_t pc, sframe_unwind_row* row);
/* Does the same, and sets `*end` to where the result may change: it is the same for each PC before it, and 2^64 - 1
   after the last function. `for (pc = 0; pc != UINT64_MAX; pc = end)` iterates over a section. */
int sframe_unwind_view_lookup_stretch(const sframe_unwind_view* view, uint64_t pc, sframe_unwind_row* row,
                                      uint64_t* end);

/* Stacks of any process. */

/* The numbers are DWARF's, not the kernel's: on x86-64 rax 0, rdx 1, rcx 2, rbx 3, rsi 4, rdi 5, rbp 6, rsp 7, r8 to
   r15; on aarch64 x0 to x30 and sp 31; on s390x r0 to r15, and floating point after them. */
typedef struct sframe_unwind_registers {
  uint64_t pc;
  uint64_t values[32]; /* by DWARF number, in the host's byte order */
  uint32_t
      known; /* bit n: values[n] is known. A walk starts with SP, and FP if rules need it; a caller has SP and FP */
  uint32_t pc_is_exact; /* 1: an interrupted instruction's; 0: a return address */
} sframe_unwind_registers;

/* Why a walk ends. */
enum {
  SFRAME_UNWIND_STEPPED = 0,       /* it does not */
  SFRAME_UNWIND_OUTERMOST,         /* there is no caller: a row says so, or the return address is 0 */
  SFRAME_UNWIND_NO_MODULE,         /* the PC is in no module */
  SFRAME_UNWIND_NO_SECTION,        /* the PC's module has no section */
  SFRAME_UNWIND_NO_ROW,            /* no row covers the PC */
  SFRAME_UNWIND_UNREADABLE_MEMORY, /* also: the stack goes on after a recorded piece of it */
  SFRAME_UNWIND_UNKNOWN_REGISTER,  /* a rule is based on a register that is not known */
  SFRAME_UNWIND_NO_PROGRESS,       /* the stack pointer would not grow */
  SFRAME_UNWIND_BAD_SECTION        /* it is damaged, or for another machine than the first module's that has one */
};
const char* sframe_unwind_stop_text(int stop);

/* Copies the 8 bytes at `address` of the walked program to `bytes`, in their order, and returns 1; or returns 0 if it
   cannot. `address` may be any number. */
typedef int (*sframe_unwind_read)(void* context, uint64_t address, void* bytes);
/* An sframe_unwind_read of this process. It asks the kernel whether each page can be read, so no address ends the
   program, unless another thread unmaps the page at this moment. One or two system calls a word; ignores `context`. */
int sframe_unwind_read_own_memory(void* context, uint64_t address, void* bytes);

/* Finds the caller of a frame whose PC has no row, as by frame pointers or by a table of the caller's own. `why` is
   SFRAME_UNWIND_NO_MODULE, SFRAME_UNWIND_NO_SECTION, SFRAME_UNWIND_NO_ROW or SFRAME_UNWIND_BAD_SECTION. Returns
   SFRAME_UNWIND_STEPPED with the caller's registers in `registers`; SFRAME_UNWIND_OUTERMOST; or `why`, and leaves
   `registers` alone. */
typedef int (*sframe_unwind_fallback)(void* context, sframe_unwind_registers* registers, int why);

/* A file in memory. */
typedef struct sframe_unwind_module {
  uint64_t begin, end;            /* addresses of its code in the walked program */
  uint64_t bias;                  /* such an address minus the one that the view was opened for, modulo 2 to the 64th */
  const sframe_unwind_view* view; /* null: it has no section */
  const sframe_unwind_view*
      second_view; /* is asked where `view` has no row, with the same bias; null: no other view is */
} sframe_unwind_module;

/* One remembered row; zeros are an empty slot. Walks of several programs may share slots, if their generations differ.
 */
typedef struct sframe_unwind_row_slot {
  uint64_t opaque[4];
} sframe_unwind_row_slot;

typedef struct sframe_unwind_walked {
  size_t size; /* sizeof(sframe_unwind_walked): by it a later library tells what an earlier header did not have. A size
                  that ends before `fallback` does is refused, and so are fields that this library does not know, unless
                  they are 0 */
  const sframe_unwind_module* modules; /* no two overlap; ascending ones are searched faster. Views and all must outlive
                                          the walk */
  size_t module_count;
  sframe_unwind_read read;
  void* context;           /* for `read` and `fallback` */
  uint64_t signature_mask; /* aarch64: the bits of a signed return address that are not the address's own; else 0 */
  sframe_unwind_row_slot* rows;    /* null: no rows are remembered */
  size_t row_slots;                /* a power of two, or 0 */
  sframe_unwind_fallback fallback; /* null: a walk ends where there is no row. It may not change the modules */
  uint64_t generation; /* change it with the modules: rows that were remembered under another number are not used. Only
                          the low 32 bits are compared. Before they come again, clear the slots */
} sframe_unwind_walked;

/* Replaces the registers of a frame by those of its caller. They stay as they are unless it returns
   SFRAME_UNWIND_STEPPED. Returns a stop, SFRAME_UNWIND_STEPPED among them, or SFRAME_UNWIND_WRONG_ARGUMENT. */
int sframe_unwind_step(const sframe_unwind_walked* walked, sframe_unwind_registers* registers);

/* Fills `pcs` from the frame in `registers` outwards, its own PC first, and returns how many. `stop` is
   SFRAME_UNWIND_STEPPED if there was no more room. `registers` become those of the last frame. With
   SFRAME_UNWIND_WRONG_ARGUMENT in `stop`, it returns 0. */
size_t sframe_unwind_walk(const sframe_unwind_walked* walked, sframe_unwind_registers* registers, uint64_t* pcs,
                          size_t capacity, int* stop);

/* The stack of this thread. */

/* Looks at the loaded files and checks their sections; to be called before the first walk. After dlopen() and dlclose()
   it makes walks through what was loaded faster; where nothing has changed since, it costs next to nothing. Not for
   signal handlers; in any thread, beside walks. A walk that siglongjmp() leaves counts as one that goes on: memory that
   it may use is then never freed. Nor for what a program with threads has forked, as dl_iterate_phdr() is not: a thread
   that is not there may hold the dynamic loader's lock; walks work there, by what was prepared before. 0, or an errno:
   ENOMEM, and what was prepared before stays. */
int sframe_unwind_backtrace_prepare(void);
/* Frees what that allocated, and forgets code that was added. Memory that a walk in another thread still uses is freed
   by a later call that changes something. */
void sframe_unwind_backtrace_release(void);

/* As backtrace() of glibc: return addresses, the caller's first. Returns how many, at most `size`. Works in a signal
   handler, and in a thread of its own while another one prepares. Without preparation it opens the sections that it
   meets by itself where the C library tells of them (glibc 2.35); otherwise there is one frame. */
int sframe_unwind_backtrace(void** buffer, int size);
/* The same from where a signal has come; `ucontext` is the third argument of a handler with SA_SIGINFO, on this thread.
   The first one is the PC itself, and no return address. */
int sframe_unwind_backtrace_interrupted(void** buffer, int size, const void* ucontext);
/* The latter, and why it stopped: SFRAME_UNWIND_STEPPED if the buffer is full. */
int sframe_unwind_backtrace_stop(void** buffer, int size, const void* ucontext, int* stop);

/* A frame of this thread. */
typedef struct sframe_unwind_frame {
  uint64_t pc;
  uint64_t sp;          /* at this PC: of a return address, after the return */
  uint32_t pc_is_exact; /* 1: an interrupted instruction's; 0: a return address */
  uint32_t reserved;    /* 0 */
} sframe_unwind_frame;

/* Stores PC, SP and FP of the caller, as they are when this returns. `pc_is_exact` is 0. */
void sframe_unwind_backtrace_here(sframe_unwind_registers* registers);
/* Fills `buffer` or `frames` from the frame in `registers` outwards, its own PC first, and returns how many. `stop` is
   why the walk ended: SFRAME_UNWIND_STEPPED if there was no more room. `registers` become those of the last frame, with
   which another call goes on; it stores that frame again. The frame must be one of this thread that has not returned. A
   walk also pauses, with SFRAME_UNWIND_STEPPED, after a caller that a signal has interrupted: its PC may be anywhere.
 */
int sframe_unwind_backtrace_from(void** buffer, int size, sframe_unwind_registers* registers, int* stop);
int sframe_unwind_backtrace_frames(sframe_unwind_frame* frames, int size, sframe_unwind_registers* registers,
                                   int* stop);

/* A section for a loaded file; returns 0 or an errno of its own choice, and must return: no exception, no longjmp().
   `file` is as dl_iterate_phdr() names it, "" for the program. The bytes must stay until
   sframe_unwind_backtrace_release(), and until walks that had begun before it are done. */
typedef int (*sframe_unwind_provide)(void* context, const char* file, uint64_t bias, const void** bytes, size_t* size,
                                     uint64_t* address);
enum {
  SFRAME_UNWIND_PROVIDE_MISSING = 0, /* for files that have none, or a damaged one */
  SFRAME_UNWIND_PROVIDE_ALL = 1,     /* for all: it says what the file's own section leaves out */
  /* And what is loaded now is never unloaded: walks need not ask whether it is there still. Not so what a program of
     glibc loads that is linked statically. Not in a constructor that dlopen() runs: another thread's call would wait
     for the dynamic loader, which waits for the constructor. */
  SFRAME_UNWIND_KEEP_FILES = 2,
  /* Check what `provide` returns by its header alone, in constant time: for sections that were checked when they were
     made. Damage may then give wrong rows, but never a wild read. */
  SFRAME_UNWIND_TRUST_PROVIDED = 4,
  /* Make no tables of pages: preparing takes less time and memory, and finding a row for the first time takes longer.
   */
  SFRAME_UNWIND_NO_PAGES = 8,
  /* Walks open no section by themselves. They end with SFRAME_UNWIND_NO_MODULE at what is loaded later. */
  SFRAME_UNWIND_ONLY_PREPARED = 16,
  /* From now on, walks write nothing that threads share but rows that are found for the first time. What was allocated
     before is never freed then, since it is not known who still uses it. Later calls without this flag change neither.
   */
  SFRAME_UNWIND_KEEP_LISTS = 32
};
/* As sframe_unwind_backtrace_prepare(), with sections from `provide`, which is asked once a file and may call neither
   dlopen() nor what changes backtraces. `address` is the file's own, without `bias`. Later calls with other or no
   `provide` keep what was provided. If a flag is unknown, it returns EINVAL and changes nothing. */
int sframe_unwind_backtrace_prepare_with(sframe_unwind_provide provide, void* context, unsigned flags);

/* An executable segment: its address in the file's own addresses, and its size in memory. */
typedef struct sframe_unwind_code {
  uint64_t address, size;
} sframe_unwind_code;

/* What a loaded file says of itself in memory. All of it is the callee's until it returns. */
typedef struct sframe_unwind_file {
  size_t size;      /* sizeof(sframe_unwind_file) of the library: a later one may say more */
  const char* name; /* as dl_iterate_phdr() names it, "" for the program */
  uint64_t bias;
  const uint8_t* build_id;
  size_t build_id_size;           /* 0: it has none, or one of more than 64 bytes */
  const sframe_unwind_code* code; /* executable segments, in the order of the program headers */
  size_t code_count;              /* 0: it has none, or more than 16 */
} sframe_unwind_file;

/* The same for a provider that tells files by their build-id. */
typedef int (*sframe_unwind_provide_file)(void* context, const sframe_unwind_file* file, const void** bytes,
                                          size_t* size, uint64_t* address);
int sframe_unwind_backtrace_prepare_files(sframe_unwind_provide_file provide, void* context, unsigned flags);

/* Code of one's own, as a compiler at run time makes it. */

/* Adds the code from `begin` to `end` with its section, of `size` bytes, for all walks that begin after that. `address`
   is what the starts of functions count from, so that they are the addresses of the code in memory: where the section
   was encoded for, and the bias of the code. The section is copied, and all of it is checked. Call it once the code is
   complete and before it runs; where and when as sframe_unwind_backtrace_prepare(), which need not be called. Takes
   time in proportion to the section, the loaded files, the added ranges and the mappings of the process (it reads
   /proc/self/maps), so add large ranges. 0, or an errno, and nothing has changed: EINVAL, the range is empty, or the
   section is damaged or for another machine; EEXIST, a byte of the range was added, or is in a file that
   dl_iterate_phdr() knows; ENOMEM. */
int sframe_unwind_backtrace_add(const void* begin, const void* end, const void* bytes, size_t size, uint64_t address);
/* Removes what was added with this `begin`. Call it before the code is unmapped or other code is put there. A walk that
   had begun before may still use the copy of the section, which is freed later. 0, or an errno, and nothing has
   changed: ENOENT, nothing was added there; ENOMEM, and the code is still known. */
int sframe_unwind_backtrace_remove(const void* begin);

SFRAME_GEN_END_C

#ifdef __cplusplus
}
#endif

#endif
