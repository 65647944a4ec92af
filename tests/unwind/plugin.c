/* What a profiler that is loaded on demand does. */
#include <sframe_gen/unwind.h>

int plugin_frames(void) {
  void *frames[8];
  if (sframe_unwind_backtrace_prepare() != 0) return 0;
  const int count = sframe_unwind_backtrace(frames, 8);
  sframe_unwind_backtrace_release();
  return count;
}
