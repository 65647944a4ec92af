/* A library with an indirect function. While dlopen() loads it, the function's resolver runs, and calls what the program
   has put at HOOK. With SIZE, it has so many bytes of data. */
typedef void (*hook)(void);

#ifdef SIZE
char data[SIZE] = {1};
#endif

static int result(void) {
  return 1;
}

/* Its frame remains, as the call is not the last thing. */
static void *resolve(void) {
  (*(const hook *)HOOK)();
  void *function = (void *)result;
  __asm__ volatile("" : "+r"(function));
  return function;
}

static int indirect(void) __attribute__((ifunc("resolve")));

int call_back(int (*function)(void));

int call_back(int (*function)(void)) {
  return function() + indirect();
}
