/* Interrupted again and again at whatever instruction it is at, it walks its stack from there by .sframe, its own and that of
   every library, and by libgcc, which reads .eh_frame. The two must agree frame by frame. Prints how many did. With
   WITH_LIBRARY, libsframe-unwind walks as well, from the same signal. */
#define _GNU_SOURCE
#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <ucontext.h>
#include <unistd.h>
#include <unwind.h>

#include "sframe_walk.h"
#ifdef WITH_LIBRARY
#include <sframe_gen/unwind.h>
#endif

enum { most_frames = 200, most_objects = 20, most_places = 1 << 16 };

struct frame {
  uint64_t pc, cfa;
};
struct trace {
  int count;
  struct frame frame[most_frames];
};
struct mapped {
  struct sframe_object object;
  uint64_t begin, end;
};

static struct mapped objects[most_objects];
static int object_count;
static uint64_t places[most_places]; /* hashed */
static long samples, frames, unfinished, unknown_to_libgcc, place_count;
static volatile sig_atomic_t working;

static int add_object(struct dl_phdr_info *info, size_t size, void *unused) {
  struct mapped *added = &objects[object_count];
  (void)size;
  (void)unused;
  added->begin = UINT64_MAX;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr) *header = &info->dlpi_phdr[i];
    const uint64_t begin = info->dlpi_addr + header->p_vaddr, end = begin + header->p_memsz;
    if (header->p_type == 0x6474e554) added->object.section = (const unsigned char *)begin;
    if (header->p_type != PT_LOAD) continue;
    if (begin < added->begin) added->begin = begin;
    if (end > added->end) added->end = end;
  }
  if (added->object.section != NULL && ++object_count == most_objects) abort();
  return 0;
}

static const struct sframe_object *object_of(uint64_t pc) {
  for (int i = 0; i < object_count; ++i)
    if (objects[i].begin <= pc && pc < objects[i].end) return &objects[i].object;
  return NULL;
}

static uint64_t plain(uint64_t address) {
#ifdef __aarch64__
  register uint64_t x30 __asm__("x30") = address;
  __asm__ volatile("hint #7" : "+r"(x30));
  return x30;
#else
  return address;
#endif
}

#ifdef __s390x__
/* DWARF numbers 16 to 31 are the floating-point registers in this order (ELF ABI s390x supplement). */
static const int float_order[16] = {0, 2, 4, 6, 1, 3, 5, 7, 8, 10, 12, 14, 9, 11, 13, 15};
#endif

static struct sframe_state interrupted(const ucontext_t *context, uint64_t *registers) {
  struct sframe_state state = {0};
#ifdef __s390x__
  for (int i = 0; i < 16; ++i) {
    registers[i] = context->uc_mcontext.gregs[i];
    memcpy(&registers[16 + i], &context->uc_mcontext.fpregs.fprs[float_order[i]], sizeof *registers);
  }
  state.pc = context->uc_mcontext.psw.addr;
  state.sp = registers[15];
  state.fp = registers[11];
  state.ra = registers[14];
#else
  memcpy(registers, context->uc_mcontext.regs, sizeof context->uc_mcontext.regs);
  state.pc = context->uc_mcontext.pc;
  state.sp = context->uc_mcontext.sp;
  state.fp = registers[29];
  state.ra = registers[30];
#endif
  state.other = registers;
  return state;
}

static _Unwind_Reason_Code add_frame(struct _Unwind_Context *context, void *argument) {
  struct trace *trace = argument;
  if (trace->count == most_frames) abort();
  trace->frame[trace->count++] = (struct frame){_Unwind_GetIP(context), _Unwind_GetCFA(context)};
  return _URC_NO_REASON;
}

static void complain(const char *what, uint64_t interrupted_at, int depth, struct frame ours, struct frame theirs) {
  fprintf(stderr, "%s: interrupted at %#lx, frame %d: pc %#lx cfa %#lx, libgcc says pc %#lx cfa %#lx\n", what,
          (long)interrupted_at, depth, (long)ours.pc, (long)ours.cfa, (long)theirs.pc, (long)theirs.cfa);
  _exit(1);
}

static void count_place(uint64_t pc) {
  uint64_t at = pc / 2 % most_places;
  while (places[at] != 0 && places[at] != pc) at = (at + 1) % most_places;
  if (places[at] == 0 && ++place_count == most_places) abort();
  places[at] = pc;
}

/* Once, after 300 to 1323 microseconds: an alarm that repeats would leave no time for anything else where walking takes long. */
static void set_alarm(void) {
  static uint32_t random = 1;
  random = random * 1103515245 + 12345;
  const struct itimerval once = {{0, 0}, {0, 300 + (random >> 16) % 1024}};
  setitimer(ITIMER_REAL, &once, NULL);
}

struct bases {
  void *text, *data, *function;
};
const void *_Unwind_Find_FDE(void *pc, struct bases *bases); /* of libgcc */

/* Whether libgcc had to end at this frame: the linkers of these machines write no call frame information for a PLT, but a
   stub's rows come from its instructions. */
static int libgcc_is_lost(uint64_t pc, int depth) {
  struct bases bases;
  return _Unwind_Find_FDE((void *)(pc - (depth != 0)), &bases) == NULL;
}

#ifdef WITH_LIBRARY
static long library_stops[SFRAME_UNWIND_BAD_SECTION + 1], library_frames, through_handlers;

/* From the handler itself, by what it returns to, to the frames that the signal has interrupted. */
static void walk_through_handler(uint64_t interrupted_at, void **expected, int expected_count) {
  static void *pcs[most_frames];
  const struct frame none = {0, 0};
  const int count = sframe_unwind_backtrace(pcs, most_frames), handlers = count - expected_count;
  for (int i = 0; i < expected_count; ++i) {
    const struct frame theirs = {(uint64_t)expected[i], 0};
    if (handlers < 2) complain("the library's walk from the handler ends", interrupted_at, count, none, theirs);
    const struct frame ours = {(uint64_t)pcs[handlers + i], 0};
    if (ours.pc != theirs.pc) complain("the library's walk from the handler disagrees", interrupted_at, i, ours, theirs);
  }
  ++through_handlers;
}

/* `libgccs`: from the interrupted frame on. The library may end before it where a section says nothing. */
static void walk_by_library(const ucontext_t *context, const struct frame *libgccs, int libgcc_count) {
  static void *pcs[most_frames];
  const struct frame none = {0, 0};
  int stop = -1;
  const int count = sframe_unwind_backtrace_stop(pcs, most_frames, context, &stop);
  walk_through_handler(libgccs->pc, pcs, count);
  for (int i = 0; i < count; ++i, ++library_frames) {
    const struct frame ours = {(uint64_t)pcs[i], 0};
    if (i == libgcc_count && libgcc_is_lost(plain(libgccs[i - 1].pc), i - 1)) return;
    if (i == libgcc_count) complain("the library has one frame more", libgccs->pc, i, ours, none);
    if (ours.pc != plain(libgccs[i].pc)) complain("the library disagrees", libgccs->pc, i, ours, libgccs[i]);
  }
  const int silent = stop == SFRAME_UNWIND_NO_ROW || stop == SFRAME_UNWIND_NO_SECTION;
  if (stop != SFRAME_UNWIND_OUTERMOST && !silent) complain(sframe_unwind_stop_text(stop), libgccs->pc, count, none, none);
  ++library_stops[stop];
}
#endif

static void walk_both(const ucontext_t *context) {
  static struct trace trace;
  uint64_t registers[32];
  struct sframe_state state = interrupted(context, registers);
  const uint64_t start = state.pc;
  int depth = 0, first = 0;
  if (!working || object_of(start) == NULL) return;
  trace.count = 0;
  _Unwind_Backtrace(add_frame, &trace);
  while (first < trace.count && trace.frame[first].pc != start) ++first;
  ++samples;
  count_place(start);
  if (first == trace.count) {
    ++unknown_to_libgcc;
    return;
  }
#ifdef WITH_LIBRARY
  walk_by_library(context, &trace.frame[first], trace.count - first);
#endif
  for (;; ++depth) {
    const uint64_t pc = state.pc;
    const struct sframe_object *object = object_of(depth == 0 ? state.pc : state.pc - 1);
    const enum sframe_step step = object == NULL ? sframe_no_row : step_by_sframe(object, &state, depth != 0);
    const struct frame ours = {plain(state.pc), state.sp - (uint64_t)(int64_t)sframe_sp_from_cfa};
    if (step == sframe_no_row) {
      ++unfinished;
      return;
    }
    if (step == sframe_outermost) break;
    state.pc = ours.pc;
    if (first + depth + 1 >= trace.count && libgcc_is_lost(pc, depth)) return;
    if (first + depth + 1 >= trace.count) complain("one frame more", start, depth, ours, (struct frame){0, 0});
    const struct frame theirs = trace.frame[first + depth + 1];
    if (ours.pc != plain(theirs.pc) || ours.cfa != theirs.cfa) complain("the two disagree", start, depth, ours, theirs);
    ++frames;
  }
}

static void on_alarm(int number, siginfo_t *info, void *context) {
  (void)number;
  (void)info;
  walk_both(context);
  set_alarm();
}

static int by_value(const void *a, const void *b) {
  const double difference = *(const double *)a - *(const double *)b;
  return difference < 0 ? -1 : difference > 0;
}

__attribute__((noinline)) static double leaf(double a, long b) { return a * 1.5 + (double)(b % 17); }

__attribute__((noinline)) static double of_variable_size(int n) {
  double numbers[n];
  char text[64];
  for (int i = 0; i < n; ++i) numbers[i] = leaf((i * 7919) % 101, i);
  qsort(numbers, n, sizeof *numbers, by_value);
  snprintf(text, sizeof text, "%.3f %d %s", numbers[n / 2], n, "text");
  return strtod(text, NULL) + (double)strlen(text);
}

__attribute__((noinline)) static double deep(int n) {
  volatile char large[5000];
  large[n * 10] = (char)n;
  return n == 0 ? of_variable_size(60) : deep(n - 1) + large[n * 10];
}

static void *in_thread(void *argument) {
  (void)argument;
  return deep(5) > 0 ? NULL : argument;
}

int main(int count, char **arguments) {
  const long wanted = count > 1 ? atol(arguments[1]) : 1000;
  struct sigaction action = {.sa_sigaction = on_alarm, .sa_flags = SA_SIGINFO | SA_RESTART};
  dl_iterate_phdr(add_object, NULL);
  if (object_count == 0) {
    puts("without .sframe");
    return 0;
  }
  /* libgcc is loaded, and has read what it keeps, before anything is interrupted. */
  struct trace trace = {0};
  _Unwind_Backtrace(add_frame, &trace);
#ifdef WITH_LIBRARY
  if (sframe_unwind_backtrace_prepare() != 0) return 1;
#endif
  sigaction(SIGALRM, &action, NULL);
  set_alarm();
  for (long i = 0; samples < wanted; ++i) {
    working = 1;
    if (deep((int)(i % 12)) < 0) return 1;
    working = 0;
    if (i % 50 == 0) {
      pthread_t thread;
      pthread_create(&thread, NULL, in_thread, NULL);
      pthread_join(thread, NULL);
    }
  }
  action.sa_handler = SIG_IGN;
  action.sa_flags = 0;
  sigaction(SIGALRM, &action, NULL);
  printf("%ld samples at %ld places, %ld frames, %ld unfinished, %ld unknown to libgcc\n", samples, place_count, frames,
         unfinished, unknown_to_libgcc);
#ifdef WITH_LIBRARY
  printf("by the library: %ld frames, 0 differences; %ld times from the handler as well\n", library_frames,
         through_handlers);
  for (int stop = 0; stop <= SFRAME_UNWIND_BAD_SECTION; ++stop)
    if (library_stops[stop] != 0) printf("  stopped %ld times at %s\n", library_stops[stop], sframe_unwind_stop_text(stop));
  /* All the rest is in the dynamic loader, which is not converted. */
  if (library_stops[SFRAME_UNWIND_OUTERMOST] * 10 < samples * 9) return 1;
#endif
  return 0;
}
