#include "compare.hpp"

#include <dlfcn.h>

#include <cstdio>
#include <cstring>

/// Libunwind's, which this is not linked to.
extern "C" int unw_backtrace(void** buffer, int size) __attribute__((weak));

namespace compare {

Tally tally;

namespace {

Backtrace original_backtrace, original_unw_backtrace;
UnwindBacktrace original_unwind;

/// What libgcc exports, which its header does not declare for these.
struct Frame {
  std::uint64_t ip, cfa, region, language_data, data_base, text_base, saved[2];
  int is_before;
};

struct Walk {
  static constexpr int most_frames = 64;
  int most = most_frames;
  bool asks_all = false;
  int count = 0;
  _Unwind_Reason_Code result = _URC_NO_REASON;
  Frame frames[most_frames]{};
};

// What a function may change is not the caller's: registers that all functions keep.
#if defined(__x86_64__)
constexpr int kept_registers[] = {3, 12};
#else
constexpr int kept_registers[] = {19, 20};
#endif

_Unwind_Reason_Code add_frame(_Unwind_Context* context, void* data) {
  auto& walk = *static_cast<Walk*>(data);
  Frame& frame = walk.frames[walk.count++];
  frame.ip = _Unwind_GetIPInfo(context, &frame.is_before);
  if (_Unwind_GetIP(context) != frame.ip) frame.ip = 1;
  frame.cfa = _Unwind_GetCFA(context);
  if (walk.asks_all) {
    frame.region = _Unwind_GetRegionStart(context);
    frame.language_data = reinterpret_cast<std::uint64_t>(_Unwind_GetLanguageSpecificData(context));
    frame.data_base = _Unwind_GetDataRelBase(context);
    frame.text_base = _Unwind_GetTextRelBase(context);
    // Of the outermost frame's caller there are none.
    for (int i = 0; i != 2 && frame.ip != 0; ++i) frame.saved[i] = _Unwind_GetGR(context, kept_registers[i]);
  }
  return walk.count == walk.most ? _URC_END_OF_STACK : _URC_NO_REASON;
}

bool same(const char* what, const Walk& one, const Walk& other) {
  if (one.count != other.count || one.result != other.result) {
    std::printf("%s: %d and %d frames, results %d and %d\n", what, one.count, other.count, one.result, other.result);
    return false;
  }
  // The first PCs are those of the two calls.
  for (int i = 1; i < one.count; ++i) {
    const Frame &a = one.frames[i], &b = other.frames[i];
    const bool here = a.ip == b.ip && a.cfa == b.cfa && a.is_before == b.is_before && a.region == b.region &&
                      a.language_data == b.language_data && a.data_base == b.data_base && a.text_base == b.text_base &&
                      a.saved[0] == b.saved[0] && a.saved[1] == b.saved[1];
    if (!here) {
      for (const Frame* const each : {&a, &b})
        std::printf("%s, frame %d: %lx, CFA %lx, %d, function %lx, data %lx, bases %lx %lx, saved %lx %lx\n", what, i,
                    each->ip, each->cfa, each->is_before, each->region, each->language_data, each->data_base,
                    each->text_base, each->saved[0], each->saved[1]);
      return false;
    }
  }
  return true;
}

void note(bool is_same, int frames) {
  tally.walks.fetch_add(1, std::memory_order_relaxed);
  tally.frames.fetch_add(static_cast<unsigned long>(frames), std::memory_order_relaxed);
  if (!is_same) tally.different.fetch_add(1, std::memory_order_relaxed);
}

constexpr int most_pcs = 64;

void note_pcs(const char* what, void* const* ours, int count, void* const* theirs, int other_count) {
  bool is_same = count == other_count && count > 0;
  for (int i = 1; is_same && i < count; ++i) is_same = ours[i] == theirs[i];
  if (!is_same) std::printf("%s: %d and %d frames\n", what, count, other_count);
  note(is_same, count);
}

}  // namespace

bool begin() {
  void* const libc = ::dlopen("libc.so.6", RTLD_LAZY);
  void* const libgcc = ::dlopen("libgcc_s.so.1", RTLD_LAZY);
  if (libc == nullptr || libgcc == nullptr) return false;
  original_backtrace = reinterpret_cast<Backtrace>(::dlsym(libc, "backtrace"));
  original_unwind = reinterpret_cast<UnwindBacktrace>(::dlsym(libgcc, "_Unwind_Backtrace"));
  // The first calls are always the originals'.
  void* one[1];
  ::backtrace(one, 1);
  original_backtrace(one, 1);
  return original_backtrace != &::backtrace && original_unwind != &::_Unwind_Backtrace;
}

bool begin_libunwind() {
  void* const libunwind = ::dlopen("libunwind.so.8", RTLD_LAZY | RTLD_GLOBAL);
  if (libunwind == nullptr || &::unw_backtrace == nullptr) return false;
  original_unw_backtrace = reinterpret_cast<Backtrace>(::dlsym(libunwind, "unw_backtrace"));
  return original_unw_backtrace != &::unw_backtrace;
}

[[gnu::noinline]] void pcs() {
  void *ours[most_pcs], *theirs[most_pcs];
  const int count = ::backtrace(ours, most_pcs);
  note_pcs("backtrace()", ours, count, theirs, original_backtrace(theirs, most_pcs));
}

[[gnu::noinline]] void libunwinds_pcs() {
  void *ours[most_pcs], *theirs[most_pcs];
  const int count = ::unw_backtrace(ours, most_pcs);
  note_pcs("unw_backtrace()", ours, count, theirs, original_unw_backtrace(theirs, most_pcs));
}

[[gnu::noinline]] void contexts(int most) {
  Walk ours, theirs;
  ours.most = theirs.most = most;
  ours.asks_all = theirs.asks_all = true;
  ours.result = ::_Unwind_Backtrace(add_frame, &ours);
  theirs.result = original_unwind(add_frame, &theirs);
  note(same("all of a frame", ours, theirs), ours.count);
}

[[gnu::noinline]] void all() {
  pcs();
  Walk ours, theirs;
  ours.result = ::_Unwind_Backtrace(add_frame, &ours);
  theirs.result = original_unwind(add_frame, &theirs);
  note(same("_Unwind_Backtrace()", ours, theirs), ours.count);
}

}  // namespace compare
