#pragma once

#include "sframe_gen/unwind.hpp"

namespace sframe_gen::unwind {

/// Stack that is there for sure: below it runs whoever asks, and the page of its last byte is written to.
struct KnownStack {
  std::uint64_t begin = 0, end = 0;
};

/// Fills `buffer` with the PCs of this thread's frames, from the one in `registers` outwards, and returns how many.
int walk_this_thread(Registers& registers, KnownStack known, void** buffer, int size, Stop& stop);

}  // namespace sframe_gen::unwind
