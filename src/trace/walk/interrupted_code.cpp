#include "trace/walk/interrupted_code.hpp"

#include <algorithm>
#include <array>

#include "support/endian.hpp"

namespace sframe_gen::trace::walk {

namespace {

constexpr unsigned pop_rax = 0x58, pop_rbp = 0x5d, pop_rdi = 0x5f, rex_b = 0x41, leave = 0xc9;

/// How far from the end of the code a byte is: 1 is the last one.
unsigned byte_before_end(std::span<const std::byte> code, std::size_t distance) {
  return distance <= code.size() ? std::to_integer<unsigned>(code[code.size() - distance]) : 0;
}

/// Another pop, ret in its forms, or a jump to another function.
bool goes_on_as_epilogue(std::span<const std::byte> after) {
  constexpr std::array ends{0xc3U, 0xc2U, 0xf2U, 0xf3U, 0xe9U, 0xebU, 0xffU, rex_b};
  if (after.empty()) return false;
  const auto first = std::to_integer<unsigned>(after.front());
  return (first >= pop_rax && first <= pop_rdi) || std::ranges::find(ends, first) != ends.end();
}

}  // namespace

bool ends_in_system_call(sframe::Abi abi, std::span<const std::byte> before) {
  if (abi == sframe::Abi::Amd64) return byte_before_end(before, 2) == 0x0f && byte_before_end(before, 1) == 0x05;
  if (abi == sframe::Abi::S390x) return byte_before_end(before, 2) == 0x0a;  // svc
  constexpr std::uint32_t without_number = 0xffe0001f, svc = 0xd4000001;
  return before.size() >= sizeof svc &&
         (load<std::uint32_t>(before.last(sizeof svc), Endian::Little) & without_number) == svc;
}

std::uint64_t popped_frame_pointer(std::span<const std::byte> before, std::span<const std::byte> after) {
  constexpr std::uint64_t word = 8;
  if (!goes_on_as_epilogue(after)) return 0;
  if (byte_before_end(before, 1) == leave) return word;
  std::size_t from_end = 1;
  for (std::uint64_t popped = word;; popped += word) {
    const unsigned opcode = byte_before_end(before, from_end);
    const bool is_extended = byte_before_end(before, from_end + 1) == rex_b;
    if (opcode < pop_rax || opcode > pop_rdi) return 0;
    if (opcode == pop_rbp && !is_extended) return popped;
    from_end += is_extended ? 2 : 1;
  }
}

}  // namespace sframe_gen::trace::walk
