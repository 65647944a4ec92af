#include "unwind/stack_memory.hpp"

#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

namespace sframe_gen::unwind {
namespace {

constexpr std::uint64_t page = 4096;  ///< where pages are larger, each is tried more than once

std::uint64_t page_of(std::uint64_t address) {
  return address & ~(page - 1);
}

}  // namespace

/// The kernel reads the signal set before it looks at what to do with it, and to do -1 is nothing: EFAULT where there
/// is nothing to read, EINVAL where there is.
bool is_readable(std::uint64_t address) {
  const int kept = errno;
  constexpr long kernel_set_size = 8;  // bytes
  ::syscall(SYS_rt_sigprocmask, -1L, address, nullptr, kernel_set_size);
  const bool readable = errno == EINVAL;
  errno = kept;
  return readable;
}

StackMemory::StackMemory(MemoryRange known, MemoryRange main_stack) : main_stack_(main_stack) {
  if (known.begin >= known.end) return;
  if (main_stack.holds(known.begin, known.end - known.begin)) {
    take(main_stack);
  } else {
    take({page_of(known.begin), page_of(known.end - 1) + page});
  }
}

void StackMemory::take(MemoryRange range) {
  low_ = range.begin;
  starts_ = range.end - range.begin - 7;
}

[[gnu::noinline, gnu::cold]] bool StackMemory::reach(std::uint64_t address) {
  if (main_stack_.holds(address, 8)) {
    take(main_stack_);
    return true;
  }
  const std::uint64_t first = page_of(address);
  const std::uint64_t last = page_of(address + 7);
  if (last < first || !is_readable(first)) return false;
  if (last != first && !is_readable(last)) return false;
  const std::uint64_t end = last + page;
  const std::uint64_t known_end = starts_ != 0 ? low_ + starts_ + 7 : 0;
  const bool goes_on = low_ <= first && first <= known_end && known_end <= end;
  if (!goes_on) low_ = first;
  starts_ = end - low_ - 7;
  return true;
}

}  // namespace sframe_gen::unwind
