#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "trace/walk/address_space.hpp"
#include "trace/walk/stack.hpp"

namespace sframe_gen::trace::walk {

/// The callers of a program that the kernel has found by frame pointers, the innermost first. It reads all memory of
/// the program, also where no piece of the stack was copied.
struct KernelChain {
  std::span<const std::uint64_t> pcs;
  bool is_full = false;  ///< it ends at the kernel's limit
};

/// Goes on, from where a walk was cut, with the chain: after the last two frames, if they follow each other in it at
/// one place only. Frame pointers leave out the caller of each function that does not keep one. So each step needs a
/// function that is seen to have set its frame pointer, by its row or by Go's instructions, and a return address that
/// follows a call. Where Go changes the stack, the caller that is left out is added if the code shows which it is.
/// x86-64 only.
void go_on_by(const KernelChain& chain, AddressSpace& space, std::size_t most_frames, Stack& stack);

}  // namespace sframe_gen::trace::walk
