/* Calls the probe in a library that it is linked to; with an argument, in a library that it opens. */
#include <dlfcn.h>
#include <stdio.h>

int look(void);

int main(int count, char** arguments) {
  if (count == 1) return look();
  void* library = dlopen(arguments[1], RTLD_NOW | RTLD_LOCAL);
  int (*opened)(void) = library == NULL ? NULL : (int (*)(void))dlsym(library, "look");
  return opened == NULL ? (printf("%s\n", dlerror()), 9) : opened();
}
