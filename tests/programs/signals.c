// A program without any library, for a core file of a few pages: in a handler on the normal stack, which has interrupted
// some frames, another signal comes, whose handler has a stack of its own and gives up. For aarch64 and s390x.
#include <asm/signal.h>
#include <asm/unistd.h>

static long call(long number, long a, long b, long c, long d) {
#ifdef __aarch64__
  register long x8 __asm__("x8") = number;
  register long x0 __asm__("x0") = a, x1 __asm__("x1") = b, x2 __asm__("x2") = c, x3 __asm__("x3") = d;
  __asm__ volatile("svc #0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3) : "memory");
  return x0;
#else
  register long r1 __asm__("r1") = number;
  register long r2 __asm__("r2") = a, r3 __asm__("r3") = b, r4 __asm__("r4") = c, r5 __asm__("r5") = d;
  __asm__ volatile("svc 0" : "+d"(r2) : "d"(r1), "d"(r3), "d"(r4), "d"(r5) : "memory");
  return r2;
#endif
}

static volatile char* volatile nowhere;

__attribute__((noinline)) static void write_to_nowhere(void) {
  *nowhere = 1;
}

__attribute__((noinline)) static void send_signal(void) {
  call(__NR_kill, call(__NR_getpid, 0, 0, 0, 0), SIGUSR1, 0, 0);
}

/// A leaf: it still has its return address in a register.
__attribute__((noinline)) static void give_up(void) {
  __builtin_trap();
}

__attribute__((noinline)) static int recurse(int depth, void (*last)(void)) {
  volatile int here = depth;
  if (depth == 0)
    last();
  else
    here = recurse(depth - 1, last);
  return here;
}

__attribute__((noinline)) static void on_signal(int number) {
  recurse(number == SIGUSR1 ? 2 : 9, write_to_nowhere);
}

__attribute__((noinline)) static void on_fault(int number) {
  recurse(number == SIGSEGV ? 1 : 9, give_up);
}

static void handle(int number, __sighandler_t handler, unsigned long flags) {
  struct sigaction action = {0};
  action.sa_handler = handler;
  action.sa_flags = flags;
  call(__NR_rt_sigaction, number, (long)&action, 0, sizeof action.sa_mask);
}

static char other_stack[1 << 14];

void _start(void) {
  const stack_t other = {.ss_sp = other_stack, .ss_size = sizeof other_stack};
  call(__NR_sigaltstack, (long)&other, 0, 0, 0);
  handle(SIGUSR1, on_signal, 0);
  handle(SIGSEGV, on_fault, SA_SIGINFO | SA_ONSTACK);
  recurse(3, send_signal);
  call(__NR_exit, 1, 0, 0, 0);
}
