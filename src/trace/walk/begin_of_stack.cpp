#include "trace/walk/begin_of_stack.hpp"

#include <array>
#include <cstddef>
#include <optional>

namespace sframe_gen::trace::walk {

namespace {

constexpr std::uint64_t stack_word = 8;

/// Words from the stack pointer upwards.
class StackWords {
 public:
  StackWords(Endian endian, std::uint64_t begin, unwind::ReadMemory read, void* context)
      : endian_(endian), begin_(begin), address_(begin), read_(read), context_(context) {}

  std::optional<std::uint64_t> next() {
    constexpr std::uint64_t most = 8192;
    std::array<std::byte, stack_word> bytes{};
    if (address_ - begin_ >= most * stack_word || !read_(context_, address_, bytes.data())) return std::nullopt;
    address_ += stack_word;
    return load<std::uint64_t>(bytes, endian_);
  }

  /// Takes addresses of texts up to a zero, and returns how many. None: one is something else.
  std::optional<std::uint64_t> addresses() {
    for (std::uint64_t count = 0;; ++count) {
      const auto word = next();
      if (!word) return std::nullopt;
      if (*word == 0) return count;
      // The texts are above all of this.
      if (*word <= address_) return std::nullopt;
    }
  }

 private:
  Endian endian_;
  std::uint64_t begin_, address_;
  unwind::ReadMemory read_;
  void* context_;
};

/// AT_* of linux/auxvec.h, each of which the kernel has there once.
bool is_auxiliary_vector(StackWords& words) {
  constexpr std::uint64_t end = 0, headers = 3, page_size = 6, entry = 9, most_kinds = 64;
  constexpr std::uint64_t needed =
      std::uint64_t{1} << headers | std::uint64_t{1} << page_size | std::uint64_t{1} << entry;
  std::uint64_t found = 0;
  for (;;) {
    const auto kind = words.next(), value = words.next();
    if (!kind || !value || *kind >= most_kinds) return false;
    if (*kind == end) return *value == 0 && (found & needed) == needed;
    if ((found >> *kind & 1U) != 0) return false;
    found |= std::uint64_t{1} << *kind;
  }
}

}  // namespace

bool is_begin_of_stack(Endian endian, std::uint64_t stack_pointer, unwind::ReadMemory read, void* context) {
  StackWords words(endian, stack_pointer, read, context);
  const auto arguments = words.next();
  return arguments && *arguments != 0 && words.addresses() == arguments && words.addresses() &&
         is_auxiliary_vector(words);
}

}  // namespace sframe_gen::trace::walk
