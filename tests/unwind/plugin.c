/* What a profiler that is loaded on demand does. */
#include <sframe_gen/unwind.h>

int plugin_frames(void) {
  void *frames[8];
  if (sframe_backtrace_prepare() != 0) return 0;
  const int count = sframe_backtrace(frames, 8);
  sframe_backtrace_release();
  return count;
}
