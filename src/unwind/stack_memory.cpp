#include "unwind/stack_memory.hpp"

#include <fcntl.h>
#include <sys/auxv.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>

namespace sframe_gen::unwind {
namespace {

constexpr std::uint64_t page = 4096;  ///< where pages are larger, each is tried more than once

std::uint64_t page_of(std::uint64_t address) {
  return address & ~(page - 1);
}

/// Lines as the kernel writes them, "begin-end rwxp ...", as far as the rights; what follows may be long.
class MapLine {
 public:
  /// True: a line has ended.
  bool take(char next) {
    if (next == '\n') return true;
    if (length_ < sizeof text_) text_[length_++] = next;
    return false;
  }

  Range readable_range() const {
    std::size_t at = 0;
    Range range;
    if (!number(at, '-', range.begin) || !number(at, ' ', range.end)) return {};
    return at < length_ && text_[at] == 'r' ? range : Range{};
  }

  void clear() { length_ = 0; }

 private:
  bool number(std::size_t& at, char end, std::uint64_t& value) const {
    value = 0;
    for (; at < length_ && text_[at] != end; ++at) {
      const bool is_letter = text_[at] >= 'a' && text_[at] <= 'f';
      if (!is_letter && (text_[at] < '0' || text_[at] > '9')) return false;
      value = value << 4U | static_cast<std::uint64_t>(text_[at] - (is_letter ? 'a' - 10 : '0'));
    }
    return at++ < length_;
  }

  char text_[48]{};  ///< two addresses and the rights take less
  std::size_t length_ = 0;
};

/// The readable mapping that holds `address`.
Range find_mapping(int maps, std::uint64_t address) {
  MapLine line;
  char bytes[4096];
  for (ssize_t count = 0; (count = ::read(maps, bytes, sizeof bytes)) > 0;) {
    for (ssize_t i = 0; i < count; ++i) {
      if (!line.take(bytes[i])) continue;
      const Range range = line.readable_range();
      if (covers(range, address, 1)) return range;
      line.clear();
    }
  }
  return {};
}

}  // namespace

/// Asks rt_sigprocmask with an invalid `how` (-1): the kernel reads the signal set first, so it says EFAULT if the
/// address cannot be read, and EINVAL if it can. A set at address 0 is none to read, and the call succeeds. The set is
/// aligned here, since the kernel reads all of its 8 bytes, which then are in the page of `address`.
bool is_readable(std::uint64_t address) {
  const int kept = errno;
  constexpr std::uint64_t kernel_set_size = 8;  // bytes
  const std::uint64_t set = address & ~(kernel_set_size - 1);
  const bool readable = ::syscall(SYS_rt_sigprocmask, -1L, set, nullptr, kernel_set_size) != 0 && errno == EINVAL;
  errno = kept;
  return readable;
}

StackMemory::StackMemory(Range known, Range main_stack) : main_stack_(main_stack) {
  if (known.begin >= known.end) return;
  if (covers(main_stack, known.begin, known.end - known.begin)) {
    take(main_stack);
  } else {
    take({page_of(known.begin), page_of(known.end - 1) + page});
  }
}

void StackMemory::take(Range range) {
  low_ = range.begin;
  starts_ = range.end - range.begin - 7;
}

[[gnu::noinline, gnu::cold]] bool StackMemory::reach(std::uint64_t address) {
  if (covers(main_stack_, address, 8)) {
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

Range find_main_stack() {
  // The kernel puts these bytes above the arguments of main(), on no other stack.
  const std::uint64_t on_stack = ::getauxval(AT_RANDOM);
  if (on_stack == 0) return {};
  const int maps = ::open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
  if (maps < 0) return {};
  const Range range = find_mapping(maps, on_stack);
  ::close(maps);
  return range;
}

}  // namespace sframe_gen::unwind
