/* Calls that a linker leads through stubs: to functions of a library, to one whose address is taken as well, and to one
   that is chosen when the program starts. */
#ifdef LIBRARY
int f(int x) { return x; }
int g(int x) { return x; }
int h(int x) { return x; }
__thread int t;
#else
static int chosen(int x) { return x + 1; }
static int (*choose(void))(int) { return chosen; }
int chosen_at_start(int) __attribute__((ifunc("choose"), visibility("hidden")));
#if defined(STATIC) && defined(ABSENT)
extern int absent(int) __attribute__((weak));
int start(void) { return chosen_at_start(4) + absent(2); }
#elif defined(STATIC)
int start(void) { return chosen_at_start(4); }
#else
extern int f(int), g(int), h(int);
int (*volatile pointer)(int);
#ifdef DESCRIPTORS
extern __thread int t;
int start(void) { return f(t); }
#else
int start(void) {
  pointer = h;
  return f(1) + g(2) + h(3) + chosen_at_start(4);
}
#endif
#endif
#ifdef MUSL
/* What the object that programs begin with refers to. */
int main(void) { return start(); }
int __libc_start_main(int (*program)(void)) { return program(); }
#endif
#endif
