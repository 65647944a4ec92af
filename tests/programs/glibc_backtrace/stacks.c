// Prints stacks of several kinds as backtrace() gives them, each frame as a file and an offset into it.
// tools/glibc-backtrace runs it.

#define _GNU_SOURCE
#include <alloca.h>
#include <assert.h>
#include <dlfcn.h>
#include <execinfo.h>
#include <pthread.h>
#include <search.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { most = 200, threads = 8, walks = 500 };

struct trace {
  const char* name;
  int count;
  void* frames[most];
};

static void print(const struct trace* trace) {
  printf("%s: %d\n", trace->name, trace->count);
  for (int i = 0; i < trace->count; i++) {
    Dl_info info;
    if (dladdr(trace->frames[i], &info) == 0) {
      puts("  ?");
      continue;
    }
    const char* const slash = strrchr(info.dli_fname, '/');
    printf("  %s+%#lx\n", slash ? slash + 1 : info.dli_fname, (long)((char*)trace->frames[i] - (char*)info.dli_fbase));
  }
  fflush(stdout);
}

/// Frames of a size that the compiler does not know.
__attribute__((noipa)) static int recurse(int depth, struct trace* trace) {
  char* volatile room = alloca((size_t)depth * 24 + 16);
  room[0] = (char)depth;
  if (depth == 0)
    trace->count = backtrace(trace->frames, most);
  else
    recurse(depth - 1, trace);
  return room[0];
}

static void walk(const char* name, int depth) {
  struct trace trace = {.name = name};
  recurse(depth, &trace);
  print(&trace);
}

__attribute__((constructor)) static void at_start(void) {
  walk("in a constructor", 4);
}
__attribute__((destructor)) static void at_end(void) {
  walk("in a destructor", 4);
}
static void at_exit(void) {
  walk("at exit", 1);
}

static int compare(const void* left, const void* right) {
  static int once;
  if (!once++) walk("in qsort", 3);
  return *(const int*)left - *(const int*)right;
}

static void visit(const void* node, VISIT which, int depth) {
  (void)node, (void)depth;
  if (which == leaf) walk("in twalk", 2);
}

static void in_handler(int number) {
  walk(number == SIGUSR1 ? "in a handler" : "in a handler, on another stack", 2);
}

/// Locals aligned beyond the ABI: the CFA goes through memory.
__attribute__((noipa)) static int realigned(int depth) {
  _Alignas(64) volatile int lanes[16];
  lanes[0] = depth;
  walk("realigned", depth);
  return lanes[0];
}

static pthread_barrier_t all_there;

/// All at once, and every thread the same each time.
static void* in_thread(void* argument) {
  struct trace* const trace = argument;
  const int depth = trace->count;
  pthread_barrier_wait(&all_there);
  for (int i = 0; i < walks; i++) {
    struct trace again = {.name = trace->name};
    recurse(depth, &again);
    if (i == 0)
      *trace = again;
    else if (again.count != trace->count ||
             memcmp(again.frames, trace->frames, sizeof(void*) * (size_t)again.count) != 0)
      abort();
  }
  return NULL;
}

static void walk_in_threads(void) {
  static struct trace traces[threads];
  static char names[threads][16];
  pthread_t ids[threads];
  pthread_barrier_init(&all_there, NULL, threads);
  for (int i = 0; i < threads; i++) {
    snprintf(names[i], sizeof names[i], "thread %d", i + 1);
    traces[i] = (struct trace){.name = names[i], .count = 5 + 20 * i};
    if (pthread_create(&ids[i], NULL, in_thread, &traces[i]) != 0) abort();
  }
  for (int i = 0; i < threads; i++) pthread_join(ids[i], NULL);
  for (int i = 0; i < threads; i++) print(&traces[i]);
}

/// Each of these ends in a call that does not return: the return address is in the padding after the function.
__attribute__((noipa, noreturn)) static void give_up(int why) {
  if (why < 0) puts("never");
  abort();
}
__attribute__((noipa, noreturn)) static void give_up_later(int why) {
  volatile int room[8] = {why};
  give_up(room[0] + 1);
}
__attribute__((noipa)) static int checked(int why) {
  assert(why == 0);
  return why;
}

static const char* of_child;
static void on_abort(int number) {
  (void)number;
  walk(of_child, 2);
  _exit(0);
}

static void walk_in_child(const char* name, void (*end)(int)) {
  fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    of_child = name;
    signal(SIGABRT, on_abort);
    end(1);
    _exit(1);
  }
  int status;
  if (waitpid(child, &status, 0) != child || status != 0) abort();
}
static void fail_check(int why) {
  checked(why);
}

int main(void) {
  walk("recursion", 100);
  walk_in_child("in abort", give_up_later);
  walk_in_child("in assert", fail_check);
  realigned(3);
  int numbers[] = {3, 1, 2};
  qsort(numbers, 3, sizeof numbers[0], compare);
  void* tree = NULL;
  tsearch(&numbers[0], &tree, compare);
  twalk(tree, visit);
  walk_in_threads();
  signal(SIGUSR1, in_handler);
  raise(SIGUSR1);
  static char bytes[1 << 16];
  const stack_t other = {.ss_sp = bytes, .ss_size = sizeof bytes};
  sigaltstack(&other, NULL);
  const struct sigaction action = {.sa_handler = in_handler, .sa_flags = SA_ONSTACK};
  sigaction(SIGUSR2, &action, NULL);
  raise(SIGUSR2);
  atexit(at_exit);
  return 0;
}
