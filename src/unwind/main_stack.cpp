#include "unwind/main_stack.hpp"

#include <fcntl.h>
#include <sys/auxv.h>
#include <unistd.h>

#include <cstddef>

namespace sframe_gen::unwind {
namespace {

/// Lines as the kernel writes them, "begin-end rwxp ...", as far as the rights; what follows may be long.
class MapLine {
 public:
  /// True: a line has ended.
  bool take(char next) {
    if (next == '\n') return true;
    if (length_ < sizeof text_) text_[length_++] = next;
    return false;
  }

  MemoryRange readable_range() const {
    std::size_t at = 0;
    MemoryRange range;
    if (!number(at, '-', range.begin) || !number(at, ' ', range.end)) return {};
    return at < length_ && text_[at] == 'r' ? range : MemoryRange{};
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
MemoryRange find_mapping(int maps, std::uint64_t address) {
  MapLine line;
  char bytes[4096];
  for (ssize_t count = 0; (count = ::read(maps, bytes, sizeof bytes)) > 0;) {
    for (ssize_t i = 0; i < count; ++i) {
      if (!line.take(bytes[i])) continue;
      const MemoryRange range = line.readable_range();
      if (range.holds(address, 1)) return range;
      line.clear();
    }
  }
  return {};
}

}  // namespace

MemoryRange find_main_stack() {
  // The kernel puts these bytes above the arguments of main(), on no other stack.
  const std::uint64_t on_stack = ::getauxval(AT_RANDOM);
  if (on_stack == 0) return {};
  const int maps = ::open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
  if (maps < 0) return {};
  const MemoryRange range = find_mapping(maps, on_stack);
  ::close(maps);
  return range;
}

}  // namespace sframe_gen::unwind
