/* A shared library that has the unwinder in it shows none of it, and is gone after dlclose(). Prints what is wrong and
   returns 1. */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

static int failed(const char *what) {
  printf("%s\n", what);
  return 1;
}

int main(int count, char **arguments) {
  if (count != 2) return failed("which library?");
  void *const plugin = dlopen(arguments[1], RTLD_NOW | RTLD_LOCAL);
  if (plugin == NULL) return failed(dlerror());
  void *const symbol = dlsym(plugin, "plugin_frames");
  if (symbol == NULL) return failed(dlerror());
  int (*frames)(void);
  memcpy(&frames, &symbol, sizeof frames);
  if (frames() < 1) return failed("it walked nothing");
  if (dlsym(plugin, "sframe_unwind_backtrace") != NULL) return failed("it exports the unwinder");
  if (dlclose(plugin) != 0) return failed(dlerror());
  if (dlopen(arguments[1], RTLD_NOW | RTLD_NOLOAD) != NULL) return failed("it was not unloaded");
  return 0;
}
