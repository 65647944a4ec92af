/* What C programs do to their stacks: callbacks out of libc, frames of variable size, thread-local variables, signal
   handlers, jumps out of them, and threads that are cancelled. Prints the same on each machine. */
#define _GNU_SOURCE
#include <alloca.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>
#include <unistd.h>

static __thread int depth_of_thread = 1;
static __thread char name_of_thread[32] = "main";
static sigjmp_buf back;
static volatile sig_atomic_t handled;

static int by_value(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }

__attribute__((noinline)) static int sum(int count, ...) {
  va_list values;
  int total = 0;
  va_start(values, count);
  while (count-- > 0) total += va_arg(values, int);
  va_end(values);
  return total;
}

__attribute__((noinline)) static int of_variable_size(int n) {
  int numbers[n];
  char *text = alloca(n + 1);
  for (int i = 0; i < n; ++i) numbers[i] = (i * 7919) % 101;
  qsort(numbers, n, sizeof *numbers, by_value);
  memset(text, 'a', n);
  text[n] = 0;
  return numbers[n / 2] + (int)strlen(text);
}

__attribute__((noinline)) static long deep(int n, double weight) {
  volatile char large[3000];
  large[n % 3000] = (char)n;
  ++depth_of_thread;
  return n == 0 ? (long)weight : deep(n - 1, weight + 0.5) + large[n % 3000] % 2;
}

static void on_signal(int number, siginfo_t *info, void *context) {
  (void)info;
  (void)context;
  ++handled;
  if (number == SIGUSR2) siglongjmp(back, 7);
}

__attribute__((noinline)) static void raise_from(int n, int number) {
  if (n == 0) raise(number);
  else raise_from(n - 1, number);
  ++depth_of_thread;
}

static void *in_thread(void *argument) {
  snprintf(name_of_thread, sizeof name_of_thread, "thread %ld", (long)argument);
  deep(20, 0);
  char *result = malloc(64);
  snprintf(result, 64, "%s went %d deep", name_of_thread, depth_of_thread);
  return result;
}

static void clean_up(void *what) { printf("cleaned up %s\n", (const char *)what); }

static void *cancelled(void *argument) {
  pthread_cleanup_push(clean_up, argument);
  for (;;) pause();
  pthread_cleanup_pop(0);
  return NULL;
}

static ucontext_t here, there;
static void coroutine(int n) {
  printf("in a coroutine %d\n", n);
  swapcontext(&there, &here);
  printf("again %d\n", of_variable_size(n));
}

static void threads(void) {
  pthread_t thread[3];
  for (long i = 0; i < 2; ++i) pthread_create(&thread[i], NULL, in_thread, (void *)i);
  pthread_create(&thread[2], NULL, cancelled, "a cancelled thread");
  for (int i = 0; i < 2; ++i) {
    void *result;
    pthread_join(thread[i], &result);
    puts(result);
    free(result);
  }
  usleep(50000);
  pthread_cancel(thread[2]);  /* a forced unwind */
  pthread_join(thread[2], NULL);
}

int main(void) {
  struct sigaction action = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO};
  sigaction(SIGUSR1, &action, NULL);
  sigaction(SIGUSR2, &action, NULL);
  printf("%d %d\n", sum(5, 1, 2, 3, 4, 5), of_variable_size(50));
  printf("%ld, %d deep\n", deep(100, 1.5), depth_of_thread);
  raise_from(10, SIGUSR1);
  const int jumped = sigsetjmp(back, 1);
  if (jumped == 0) raise_from(10, SIGUSR2);
  printf("jumped %d, handled %d, %d deep\n", jumped, (int)handled, depth_of_thread);
  threads();
  static char stack[256 * 1024];
  getcontext(&there);
  there.uc_stack.ss_sp = stack;
  there.uc_stack.ss_size = sizeof stack;
  there.uc_link = &here;
  makecontext(&there, (void (*)(void))coroutine, 1, 9);
  swapcontext(&here, &there);
  puts("between");
  swapcontext(&here, &there);
  printf("done in %s\n", name_of_thread);
  return 0;
}
