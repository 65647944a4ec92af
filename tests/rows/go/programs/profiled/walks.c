// Each SIGPROF is walked by .sframe just before Go's handler walks the same stack. On x86-64, some of them also begin
// single steps: after each instruction, the callers must be those from before; after a call one more, after a return one
// less.
#define _GNU_SOURCE
#include "walks.h"

#include <dirent.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include "sframe_gen/unwind.h"

enum { MOST_FRAMES = 510, STEPS_AT_ONCE = 400, TRAP_FLAG = 0x100 };

// As in the file: what tools/go/stacks reads.
struct record {
  uint32_t stop, count;
  uint64_t pcs[MOST_FRAMES];
};
// Of the file's begin.
struct header {
  _Atomic uint64_t records, steps, steps_without_row, differing_steps;
  uint64_t base;  // what is to be taken from an address for the file's
  struct {
    uint64_t count[2], pcs[2][14];  // before and after
  } differences[16];
  uint64_t reserved[27];
};

static struct header *header;
static struct record *records;
static long most_records, steps_wanted;
static struct sigaction of_go;
static atomic_int ended;

static void walk(struct record *record, void *context) {
  int stop = 0;
  record->count = (uint32_t)sframe_unwind_backtrace_stop((void **)record->pcs, MOST_FRAMES, context, &stop);
  record->stop = (uint32_t)stop;
}

#ifdef __x86_64__
extern const char __executable_start, etext;

static __thread struct record before;
static __thread int steps_left;

static const uint8_t *code_at(uint64_t pc) {
  return pc >= (uint64_t)&__executable_start && pc + 16 < (uint64_t)&etext ? (const uint8_t *)pc : NULL;
}

// Bytes of a call; 0: it is none.
static unsigned length_of_call(const uint8_t *code) {
  unsigned prefix = (*code & 0xf0) == 0x40;
  code += prefix;
  if (*code == 0xe8) return prefix + 5;
  if (*code != 0xff || (code[1] >> 3 & 7) != 2) return 0;
  unsigned mode = code[1] >> 6, low = code[1] & 7, index = mode != 3 && low == 4;
  int without_base = mode == 0 && (low == 5 || (index && (code[2] & 7) == 5));
  return prefix + 2 + index + (mode == 2 || without_base ? 4 : mode == 1 ? 1 : 0);
}

// Whether the frames of `b` from `b_first` on are those of `a` from `a_first` on.
static int same(const struct record *a, unsigned a_first, const struct record *b, unsigned b_first) {
  if (a->count < a_first || b->count < b_first || a->count - a_first != b->count - b_first) return 0;
  return memcmp(a->pcs + a_first, b->pcs + b_first, (a->count - a_first) * sizeof *a->pcs) == 0 && a->stop == b->stop;
}

// Whether one instruction makes `after` of `before`.
static int follows(const struct record *after) {
  // A signal's handler may have inserted a call, as it were.
  if (same(&before, 0, after, 1)) return 1;
  const uint8_t *code = code_at(before.pcs[0]);
  unsigned length = length_of_call(code);
  if (length != 0 && after->count > 1 && after->pcs[1] == before.pcs[0] + length) return same(&before, 1, after, 2);
  if (*code == 0xc3) return same(&before, 1, after, 0);
  return same(&before, 1, after, 1);
}

// Whether to step from here on. A system call may wait, or block signals. "popf" takes the trap flag of another goroutine,
// or gives it: Go's asynchronous preemption saves the flags.
static int may_step(const ucontext_t *context) {
  const uint8_t *code = code_at((uint64_t)context->uc_mcontext.gregs[REG_RIP]);
  return code != NULL && !(code[0] == 0x0f && code[1] == 0x05) && code[0] != 0x9d;
}

static void tell(const struct record *after) {
  uint64_t at = atomic_fetch_add(&header->differing_steps, 1);
  if (at >= sizeof header->differences / sizeof *header->differences) return;
  header->differences[at].count[0] = before.count;
  header->differences[at].count[1] = after->count;
  memcpy(header->differences[at].pcs[0], before.pcs, sizeof header->differences->pcs[0]);
  memcpy(header->differences[at].pcs[1], after->pcs, sizeof header->differences->pcs[1]);
}

static void on_step(int number, siginfo_t *info, void *place) {
  (void)number, (void)info;
  ucontext_t *context = place;
  if (steps_left == 0) {
    context->uc_mcontext.gregs[REG_EFL] &= ~(greg_t)TRAP_FLAG;
    return;
  }
  struct record after;
  walk(&after, context);
  // Where the stack changes, no row says whose the frames are.
  if (before.count < 2 || after.count < 2) {
    atomic_fetch_add(&header->steps_without_row, 1);
  } else {
    atomic_fetch_add(&header->steps, 1);
    if (!follows(&after)) tell(&after);
  }
  before = after;
  if (--steps_left <= 0 || !may_step(context)) {
    context->uc_mcontext.gregs[REG_EFL] &= ~(greg_t)TRAP_FLAG;
    steps_left = 0;
  }
}

static void begin_steps(const struct record *record, ucontext_t *context) {
  if (steps_left > 0 || record->count == 0 || !may_step(context)) return;
  if (atomic_load(&header->steps) >= (uint64_t)steps_wanted) return;
  before = *record;
  steps_left = STEPS_AT_ONCE;
  context->uc_mcontext.gregs[REG_EFL] |= TRAP_FLAG;
}
#else
static void on_step(int number, siginfo_t *info, void *context) { (void)number, (void)info, (void)context; }
static void begin_steps(const struct record *record, void *context) { (void)record, (void)context; }
#endif

static void on_profile(int number, siginfo_t *info, void *context) {
  uint64_t at = atomic_fetch_add(&header->records, 1);
  if (at >= (uint64_t)most_records) return;  // Go's profile has no stack that was not walked
  walk(&records[at], context);
  if (at % 8 == 0) begin_steps(&records[at], context);
  of_go.sa_sigaction(number, info, context);
}

// Whether the thread has a processor or waits for one.
static int is_running(const char *thread) {
  char path[64], state[512];
  snprintf(path, sizeof path, "/proc/self/task/%s/stat", thread);
  int file = open(path, O_RDONLY);
  if (file < 0) return 0;
  ssize_t size = read(file, state, sizeof state - 1);
  close(file);
  state[size < 0 ? 0 : size] = 0;
  const char *name_end = strrchr(state, ')');
  return name_end != NULL && name_end[1] == ' ' && name_end[2] == 'R';
}

static void *disturb(void *pause) {
  const struct timespec between = {0, (long)pause};
  pid_t self = (pid_t)syscall(SYS_gettid);
  for (unsigned round = 0; !atomic_load(&ended); ++round) {
    DIR *threads = opendir("/proc/self/task");
    for (struct dirent *entry; threads != NULL && (entry = readdir(threads)) != NULL;) {
      pid_t thread = atoi(entry->d_name);
      if (thread == 0 || thread == self) continue;
      if (round % 64 == 0 || is_running(entry->d_name)) syscall(SYS_tgkill, getpid(), thread, SIGPROF);
    }
    if (threads != NULL) closedir(threads);
    nanosleep(&between, NULL);
  }
  return NULL;
}

static int take_base(struct dl_phdr_info *file, size_t size, void *base) {
  (void)size;
  *(uint64_t *)base = file->dlpi_addr;
  return 1;  // the program is the first one
}

static uint64_t base_of_program(void) {
  uint64_t base = 0;
  dl_iterate_phdr(take_base, &base);
  return base;
}

void walks_begin(const char *path, long count, long per_second, long steps) {
  most_records = count;
  steps_wanted = steps;
  int file = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
  size_t size = sizeof *header + (size_t)count * sizeof *records;
  if (file < 0 || ftruncate(file, (off_t)size) != 0) abort();
  header = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (header == MAP_FAILED || sframe_unwind_backtrace_prepare() != 0) abort();
  records = (struct record *)(header + 1);
  header->base = base_of_program();
  struct sigaction action = {.sa_sigaction = on_step, .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART};
  sigfillset(&action.sa_mask);
  if (sigaction(SIGTRAP, &action, NULL) != 0) abort();
  action.sa_sigaction = on_profile;
  if (sigaction(SIGPROF, &action, &of_go) != 0) abort();
  sigset_t all, old;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, &old);
  pthread_t thread;
  if (pthread_create(&thread, NULL, disturb, (void *)(1000000000 / per_second)) != 0) abort();
  pthread_sigmask(SIG_SETMASK, &old, NULL);
}

void walks_end(void) { atomic_store(&ended, 1); }
