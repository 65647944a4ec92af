#pragma once

#include <cstdint>

/// What the constructor has decided, and what is counted for SFRAME_BACKTRACE=verbose.
namespace sframe_gen::backtrace {

/// Why the original has answered: a stop of sframe_gen/unwind.h, or one of these.
enum : int {
  NotPrepared = 16,  ///< before the constructor, without memory, or turned off
  FirstCall,         ///< backtrace() of glibc loads a library then, and programs call it early to have that done
  RowsOnly,       ///< rows describe code that a signal has interrupted, or an entry, and no table of the original does
  OtherFunction,  ///< the original is another library's that stands in for glibc's or libgcc's
  MoreAsked,      ///< of a cursor of libunwind, or it has reached interrupted code
  Reasons
};

extern bool is_prepared;  ///< walks by rows may begin
extern bool is_verbose;

/// Count what is asked for by SFRAME_BACKTRACE=verbose.
void count_walk(int frames);
void count_frame();
void count_original(int why);

}  // namespace sframe_gen::backtrace
