#pragma once

#include <unwind.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>

#include "sframe_gen/unwind.h"

/// One stack walked by sframe_unwind_backtrace() and by libgcc.
namespace sframe_gen::unwind {

struct Frames {
  static constexpr int most = 256;
  void* pcs[most];
  int count = 0;
};

struct BothWalks {
  Frames ours, libgccs;
  int stop = 0;
};

inline _Unwind_Reason_Code add_frame(_Unwind_Context* context, void* data) {
  auto& frames = *static_cast<Frames*>(data);
  void* const pc = reinterpret_cast<void*>(_Unwind_GetIP(context));
  if (pc == nullptr || frames.count == Frames::most) return _URC_END_OF_STACK;
  frames.pcs[frames.count++] = pc;
  return _URC_NO_REASON;
}

/// Frames of which both walks have as many in common, counted from the outermost one: the innermost is here, where
/// each of the two is called from another place.
inline int common_frames(const BothWalks& walks) {
  int common = 0;
  while (common < walks.ours.count && common < walks.libgccs.count &&
         walks.ours.pcs[walks.ours.count - 1 - common] == walks.libgccs.pcs[walks.libgccs.count - 1 - common]) {
    ++common;
  }
  return common;
}

/// Whether they are the same all the way. `least`: frames.
inline bool agree(const char* what, const BothWalks& walks, int least) {
  const int common = common_frames(walks);
  const bool same = common + 1 == walks.ours.count && walks.ours.count == walks.libgccs.count && common >= least;
  std::printf("%s: %d frames, libgcc's %d, %d in common%s\n", what, walks.ours.count, walks.libgccs.count, common,
              same ? "" : " FAILED");
  return same;
}

[[gnu::noinline]] inline void walk_both(BothWalks& walks) {
  walks.ours.count = sframe_unwind_backtrace(walks.ours.pcs, Frames::most);
  walks.libgccs.count = 0;
  _Unwind_Backtrace(add_frame, &walks.libgccs);
  asm volatile("" : : "r"(&walks) : "memory");  // neither is the last thing, which would be a jump
}

}  // namespace sframe_gen::unwind
