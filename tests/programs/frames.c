/* One program with every kind of stack frame a compiler makes, on x86-64 above all: the CFI of its
   functions is what the tests translate, and the program itself shows that the file still
   works afterwards.  gcc -O2; prints "ok" and returns 0. */
#define _GNU_SOURCE
#include <alloca.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unwind.h>

#define NOINLINE __attribute__((noipa))
#define CHECK(condition) ((condition) ? (void)0 : fail(__LINE__, #condition))

int main(void);

NOINLINE __attribute__((cold, noreturn)) static void fail(int line, const char* what) {
  printf("line %d: %s does not hold\n", line, what);
  exit(1);
}

/* Walks the stack by .eh_frame and tells whether main is on it. */
struct walk {
  int frames;
  int reached_main;
};

static _Unwind_Reason_Code step(struct _Unwind_Context* context, void* data) {
  struct walk* walk = data;
  walk->frames++;
  if (_Unwind_FindEnclosingFunction((void*)_Unwind_GetIP(context)) == (void*)main) {
    walk->reached_main = 1;
    return _URC_END_OF_STACK;
  }
  return walk->frames < 1000 ? _URC_NO_REASON : _URC_END_OF_STACK;
}

NOINLINE static int main_is_below(void) {
  struct walk walk = {0, 0};
  _Unwind_Backtrace(step, &walk);
  return walk.reached_main;
}

/* Keeps a buffer alive and unknown to the optimizer. */
NOINLINE static long sum(const volatile unsigned char* bytes, size_t count) {
  long total = 0;
  for (size_t i = 0; i < count; i++) total += bytes[i];
  return total;
}

NOINLINE static long leaf(long a, long b) {
  return a * 3 + b;
}

NOINLINE static long with_alloca(size_t count) {
  unsigned char* bytes = alloca(count);
  memset(bytes, 2, count);
  CHECK(main_is_below());
  return sum(bytes, count);
}

NOINLINE static long with_vla(size_t count) {
  long total = 0;
  for (size_t n = 1; n <= count; n++) {
    unsigned char bytes[n];
    memset(bytes, 1, n);
    total += sum(bytes, n);
  }
  CHECK(main_is_below());
  return total;
}

NOINLINE static long with_varargs(int count, ...) {
  long total = 0;
  va_list arguments;
  va_start(arguments, count);
  while (count-- > 0) total += va_arg(arguments, int);
  va_end(arguments);
  CHECK(main_is_below());
  return total;
}

/* Offsets of two bytes at their limit, of four bytes, and of several pages. */
#define BIG_FRAME(name, size)            \
  NOINLINE static long name(int value) { \
    unsigned char bytes[size];           \
    memset(bytes, value, sizeof bytes);  \
    CHECK(main_is_below());              \
    return sum(bytes, sizeof bytes);     \
  }
BIG_FRAME(frame_of_100, 100)
BIG_FRAME(frame_of_32k, 32700)
BIG_FRAME(frame_of_40k, 40000)
BIG_FRAME(frame_of_1m, 1 << 20)

#ifdef __x86_64__
/* Locals aligned beyond the ABI's 16 bytes, with arguments on the stack: the compiler keeps
   a pointer to them, and the CFA goes through that pointer. */
__attribute__((target("avx2"))) NOINLINE static long realigned(const int* values, int count, long a, long b, long c,
                                                               long d, long e, long f) {
  int lanes[16] __attribute__((aligned(64)));
  unsigned char more[count];
  memset(more, 1, (size_t)count);
  for (int i = 0; i < 16; i++) lanes[i] = values[i % count] * i;
  CHECK(((unsigned long)lanes & 63) == 0);
  CHECK(main_is_below());
  return sum((const unsigned char*)lanes, sizeof lanes) + sum(more, (size_t)count) + leaf(a, b) + leaf(c, d) +
         leaf(e, f);
}

__attribute__((force_align_arg_pointer)) NOINLINE static long forced_alignment(long a, long b, ...) {
  va_list arguments;
  va_start(arguments, b);
  long c = va_arg(arguments, int);
  va_end(arguments);
  double pair[2] __attribute__((aligned(32))) = {(double)a, (double)b};
  CHECK(((unsigned long)pair & 31) == 0);
  CHECK(main_is_below());
  return (long)(pair[0] + pair[1]) + c;
}
#endif

__attribute__((optimize("no-omit-frame-pointer"))) NOINLINE static long with_frame_pointer(long depth) {
  if (depth == 0) return main_is_below();
  return with_frame_pointer(depth - 1) + leaf(depth, 0);
}

NOINLINE static long many_registers(long a, long b, long c, long d, long e, long f, long g, long h) {
  long x = leaf(a, h), y = leaf(b, g), z = leaf(c, f), w = leaf(d, e);
  CHECK(main_is_below());
  return x * y + z * w + leaf(x, y) + leaf(z, w) + a + b + c + d + e + f + g + h;
}

NOINLINE static long nested(long base) {
  long calls = 0;
  NOINLINE long inner(long value) {
    calls++;
    CHECK(main_is_below());
    return value > 0 ? value + base + inner(value - 1) : 0;
  }
  long total = inner(4);
  return total + calls;
}

NOINLINE static long tail_target(long a, long b) {
  CHECK(main_is_below());
  return a - b;
}

NOINLINE static long tail_caller(long a, long b) {
  if (leaf(a, b) > 1000) return leaf(b, a);
  return tail_target(b, a);
}

/* An interpreter with computed goto, its frame set up once for all labels. */
NOINLINE static long interpreter(const unsigned char* code) {
  static const void* const labels[] = {&&stop, &&add, &&twice, &&check};
  long value = 1;
  goto* labels[*code++];
add:
  value += leaf(value, 1);
  goto* labels[*code++];
twice:
  value *= 2;
  goto* labels[*code++];
check:
  CHECK(main_is_below());
  goto* labels[*code++];
stop:
  return value;
}

/* The error path is put into a part of its own, far from the rest. */
NOINLINE static long hot_and_cold(long value, const unsigned char* bytes) {
  long total = leaf(value, 1) + sum(bytes, 4);
  if (__builtin_expect(total < 0, 0)) {
    printf("negative: %ld\n", total);
    fail(__LINE__, "total >= 0");
  }
  return total + leaf(total, value);
}

static jmp_buf target;

NOINLINE __attribute__((noreturn)) static void jump_back(int value) {
  CHECK(main_is_below());
  longjmp(target, value);
}

NOINLINE static int with_setjmp(void) {
  volatile int rounds = 0;
  int value = setjmp(target);
  rounds++;
  if (value < 3) jump_back(value + 1);
  return rounds;
}

static volatile sig_atomic_t signals, main_seen_from_handler;

static void handler(int number) {
  signals += number == SIGUSR1;
  main_seen_from_handler = main_is_below();
}

NOINLINE static int with_signal(void) {
  struct sigaction action;
  memset(&action, 0, sizeof action);
  action.sa_handler = handler;
  CHECK(sigaction(SIGUSR1, &action, NULL) == 0);
  CHECK(raise(SIGUSR1) == 0);
  return signals == 1 && main_seen_from_handler;
}

int main(void) {
  static const unsigned char code[] = {1, 2, 3, 1, 0};

  CHECK(with_alloca(1000) == 2000);
  CHECK(with_vla(20) == 210);
  CHECK(with_varargs(4, 1, 20, 300, 4000) == 4321);
  CHECK(frame_of_100(1) == 100);
  CHECK(frame_of_32k(1) == 32700);
  CHECK(frame_of_40k(2) == 80000);
  CHECK(frame_of_1m(1) == 1 << 20);
#ifdef __x86_64__
  static const int values[] = {1, 2, 3, 4, 5};
  if (__builtin_cpu_supports("avx2")) CHECK(realigned(values, 5, 1, 2, 3, 4, 5, 6) == 365 + 39);
  CHECK(forced_alignment(40, 2, 7) == 49);
#endif
  CHECK(with_frame_pointer(4) == 31);
  CHECK(many_registers(1, 2, 3, 4, 5, 6, 7, 8) == 542);
  CHECK(nested(10) == 55);
  CHECK(tail_caller(5, 7) == 2);
  CHECK(interpreter(code) == 41);
  CHECK(hot_and_cold(1, code) == 45);
  CHECK(with_setjmp() == 4);
  CHECK(with_signal());
  puts("ok");
  return 0;
}
