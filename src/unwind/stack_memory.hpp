#pragma once

#include <cstdint>
#include <cstring>

#include "support/range.hpp"

namespace sframe_gen::unwind {

/// Memory of this process.
inline void* pointer_to(std::uint64_t address) {
  return reinterpret_cast<void*>(address);  // NOLINT(performance-no-int-to-ptr): rules and registers give numbers
}

/// Whether the kernel can read there: a system call.
bool is_readable(std::uint64_t address);

/// Whether `size` bytes from `address` on, whose end may wrap, are in the range.
inline bool covers(const Range& range, std::uint64_t address, std::uint64_t size) {
  return range.contains(address) && range.end - address >= size;
}

/// This thread's memory, of which a stretch is known to be readable: the stack as far as it was walked. A page at a
/// time is tried by a system call, so that a damaged stack or section ends a walk instead of the program.
class StackMemory {
 public:
  /// Takes the pages of `known` to be there. `main_stack`: the mapping of the first thread's stack, or what it was at
  /// some time. It needs no question, neither from this stack nor from others: the kernel makes it grow, and never
  /// smaller. Whatever else lies below it (the stack of a coroutine, say) is not in it, as it is what the kernel said.
  StackMemory(Range known, Range main_stack);

  bool word(std::uint64_t address, std::uint64_t& value) {
    // An address below the stretch wraps, and is large.
    if (address - low_ >= starts_) [[unlikely]] {
      if (!reach(address)) return false;
    }
    std::memcpy(&value, pointer_to(address), sizeof value);
    return true;
  }

  /// Takes a signature off a return address.
  static std::uint64_t plain(std::uint64_t address) {
#ifdef __aarch64__
    register std::uint64_t x30 asm("x30") = address;
    asm volatile("hint #7" : "+r"(x30));  // xpaclri; processors without signatures pass over it
    return x30;
#else
    return address;
#endif
  }

 private:
  bool reach(std::uint64_t address);
  void take(Range range);

  Range main_stack_;
  std::uint64_t low_ = 0;
  std::uint64_t starts_ = 0;  ///< at which a word of the stretch may start, from `low_`: its bytes, less 7
};

/// The mapping of the first thread's stack as it is now. Nothing, where /proc does not say.
Range find_main_stack();

}  // namespace sframe_gen::unwind
