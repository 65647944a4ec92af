/* A program without a C library, for machines that none is installed for: calls of several shapes, each of which walks the
   stack by the program's own .sframe and by the chain of frame records, which must agree. Exit status 0 says so. */
#include "sframe_walk.h"

enum { sys_write = 64, sys_exit = 93, auxv_phdr = 3, auxv_phnum = 5, pt_load = 1, pt_gnu_sframe = 0x6474e554, elf_header_size = 64 };

static struct sframe_object self;
static int walks, frames;

static long call_system(long number, long a, long b, long c) {
  register long x8 __asm__("x8") = number;
  register long x0 __asm__("x0") = a;
  register long x1 __asm__("x1") = b;
  register long x2 __asm__("x2") = c;
  __asm__ volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2) : "memory");
  return x0;
}

static void say(const char *text) {
  long length = 0;
  while (text[length] != 0) ++length;
  call_system(sys_write, 1, (long)text, length);
}

static void fail(const char *text) {
  say(text);
  call_system(sys_exit, 1, 0, 0);
}

/* Takes the signature off, if there is one: XPACLRI, which older processors pass over. */
static uint64_t plain(uint64_t address) {
  register uint64_t x30 __asm__("x30") = address;
  __asm__ volatile("hint #7" : "+r"(x30));
  return x30;
}

__attribute__((noinline)) static void walk(void) {
  struct sframe_state state = {0};
  uint64_t *record;
  __asm__ volatile("adr %0, .\n\tmov %1, sp\n\tmov %2, x29" : "=&r"(state.pc), "=&r"(state.sp), "=&r"(state.fp));
  record = (uint64_t *)state.fp;
  ++walks;
  for (int depth = 0;; ++depth) {
    const enum sframe_step step = step_by_sframe(&self, &state, depth != 0);
    if (step == sframe_no_row) fail("a frame has no row\n");
    if (step == sframe_outermost) {
      if (record != 0) fail("the chain of frame records goes on\n");
      return;
    }
    state.pc = plain(state.pc);
    if (record == 0 || state.pc != plain(record[1]) || state.fp != record[0]) fail("the two disagree\n");
    record = (uint64_t *)record[0];
    ++frames;
  }
}

__attribute__((noinline)) static long leafy(long n) { return n * 3 + walks; }

__attribute__((noinline)) static long of_variable_size(long n) {
  volatile char bytes[n];
  for (long i = 0; i < n; ++i) bytes[i] = (char)i;
  walk();
  return bytes[n / 2];
}

__attribute__((noinline)) static long large(long n) {
  volatile long array[9000];
  array[n] = leafy(n);
  walk();
  return array[n] + of_variable_size(n);
}

__attribute__((noinline)) static long deep(long n, long (*call)(long)) {
  const long below = n == 0 ? call(40) : deep(n - 1, call);
  walk();
  return below + n;
}

__attribute__((used, noinline)) static void begin(uint64_t *stack) {
  uint64_t *at = stack + 1 + *stack + 1, base = 0, count = 0;
  const struct sframe_phdr *headers = 0;
  while (*at++ != 0) continue;  /* the environment */
  for (; at[0] != 0; at += 2) {
    if (at[0] == auxv_phdr) headers = (const struct sframe_phdr *)at[1];
    if (at[0] == auxv_phnum) count = at[1];
  }
  for (uint64_t i = 0; i < count; ++i)
    if (headers[i].type == pt_load && headers[i].offset == 0) base = (uint64_t)headers - elf_header_size - headers[i].address;
  for (uint64_t i = 0; i < count; ++i)
    if (headers[i].type == pt_gnu_sframe) self.section = (const unsigned char *)(base + headers[i].address);
  if (self.section == 0) {
    say("without .sframe\n");
    call_system(sys_exit, 0, 0, 0);
  }
  deep(20, large);
  deep(3, of_variable_size);
  say(walks == 21 + 4 + 3 && frames > 300 ? "walked\n" : "walked too little\n");
  call_system(sys_exit, 0, 0, 0);
}

__asm__(".globl _start\n"
        ".type _start, %function\n"
        "_start:\n"
        ".cfi_startproc\n"
        ".cfi_undefined x30\n"
        "mov x29, #0\n"
        "mov x0, sp\n"
        "bl begin\n"
        ".cfi_endproc\n"
        ".size _start, .-_start\n");
