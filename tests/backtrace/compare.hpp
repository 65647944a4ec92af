#pragma once

#include <execinfo.h>
#include <unwind.h>

#include <atomic>
#include <cstdint>

/// One stack at one moment, by backtrace(), _Unwind_Backtrace() and unw_backtrace() as the program calls them, and by
/// those of the C library, libgcc and libunwind.
namespace compare {

using Backtrace = int (*)(void**, int);
using UnwindBacktrace = _Unwind_Reason_Code (*)(_Unwind_Trace_Fn, void*);

struct Tally {
  std::atomic<unsigned long> walks{0}, frames{0}, different{0};
};
extern Tally tally;

/// Finds the originals. Returns false if what the program calls is one of them: nothing stands in for it.
bool begin();
/// The same for libunwind's.
bool begin_libunwind();

/// Compares both pairs, of at most 64 frames.
void all();
/// Compares backtrace() alone, which needs the least stack.
void pcs();
/// Compares unw_backtrace() alone: libunwind is no match for files that come and go, nor for timers.
void libunwinds_pcs();
/// Compares all that can be asked of a frame, up to `most` frames.
void contexts(int most);

}  // namespace compare
