#include "trace/walk/code_patterns.hpp"

#include <algorithm>
#include <array>
#include <initializer_list>

#include "support/endian.hpp"

namespace sframe_gen::trace::walk {

namespace {

constexpr unsigned pop_rax = 0x58, pop_rbp = 0x5d, pop_rdi = 0x5f, rex_b = 0x41, leave = 0xc9;

bool has_at(std::span<const std::byte> code, std::size_t place, std::initializer_list<unsigned> expected) {
  if (code.size() - place < expected.size()) return false;
  return std::equal(expected.begin(), expected.end(), code.begin() + static_cast<std::ptrdiff_t>(place),
                    [](unsigned one, std::byte other) { return std::byte(one) == other; });
}

/// push rbp; mov rbp, rsp, in both encodings of the latter. Not after push -8(r10), as GCC begins functions that
/// realign the stack: what is after the return address there is not the caller's.
bool is_setup_amd64(std::span<const std::byte> code, std::size_t place) {
  if (!has_at(code, place, {0x55, 0x48, 0x89, 0xe5}) && !has_at(code, place, {0x55, 0x48, 0x8b, 0xec})) return false;
  return place < 4 || !has_at(code, place - 4, {0x41, 0xff, 0x72, 0xf8});
}

/// pop %r8 to pop %r15: V8's builtin that makes the frame of a function has popped its own return address then.
bool follows_pop_amd64(std::span<const std::byte> code, std::size_t place) {
  if (place < 2 || std::to_integer<unsigned>(code[place - 2]) != rex_b) return false;
  const auto opcode = std::to_integer<unsigned>(code[place - 1]);
  return opcode >= pop_rax && opcode <= pop_rdi;
}

/// Padding up to the next function: int3, as V8 and lld have it, or the no-ops of GNU as after a return. V8 also has an
/// int3 after each call that does not return.
bool is_end_amd64(std::span<const std::byte> code, std::size_t place, std::uint64_t address) {
  constexpr std::uint64_t alignment = 16;
  if ((address + place + 2) % alignment == 0 && has_at(code, place, {0xcc, 0xcc})) return true;
  if (!has_at(code, place, {0xc3})) return false;
  return has_at(code, place + 1, {0x90}) || has_at(code, place + 1, {0x0f, 0x1f}) ||
         has_at(code, place + 1, {0x66, 0x90}) || has_at(code, place + 1, {0x66, 0x0f, 0x1f}) ||
         has_at(code, place + 1, {0x66, 0x2e, 0x0f, 0x1f}) || has_at(code, place + 1, {0x66, 0x66, 0x2e});
}

constexpr std::uint32_t aarch64_return = 0xd65f03c0, aarch64_signed_return = 0xd65f0bff;

/// Bytes of call *r/m64 (ff /2), by the byte after the opcode and the one after that, which may be a SIB byte.
std::size_t size_of_indirect_call(unsigned modrm, unsigned sib) {
  const unsigned mode = modrm >> 6U, base = modrm & 7U;
  if (mode == 3) return 2;
  const bool has_sib = base == 4;
  const bool has_distance = mode == 2 || (mode == 0 && (has_sib ? (sib & 7U) == 5 : base == 5));
  const std::size_t with_sib = has_sib ? 3 : 2;
  return with_sib + (has_distance ? 4U : mode == 1 ? 1U : 0U);
}

bool ends_in_call_amd64(std::span<const std::byte> code) {
  constexpr std::size_t direct_size = 5, longest_call = 7;
  const auto at = [&](std::size_t from_end) { return std::to_integer<unsigned>(code[code.size() - from_end]); };
  if (code.size() >= direct_size && at(direct_size) == 0xe8) return true;
  for (std::size_t size = 2; size <= std::min(longest_call, code.size()); ++size) {
    const unsigned modrm = at(size - 1), sib = size > 2 ? at(size - 2) : 0;
    if (at(size) == 0xff && (modrm >> 3U & 7U) == 2 && size_of_indirect_call(modrm, sib) == size) return true;
  }
  return false;
}

/// bl, blr, and the latter with authentication.
bool ends_in_call_aarch64(std::span<const std::byte> code) {
  if (code.size() < 4) return false;
  const auto word = load<std::uint32_t>(code.last(4), Endian::Little);
  return (word & 0xfc000000U) == 0x94000000U || (word & 0xfffffc1fU) == 0xd63f0000U ||
         (word & 0xfffff81fU) == 0xd63f081fU || (word & 0xfffff800U) == 0xd73f0800U;
}

std::optional<std::size_t> find_setup_aarch64(std::span<const std::byte> code) {
  // stp x29, x30, [sp, …] and, soon after it, add x29, sp, … (mov x29, sp).
  constexpr std::uint32_t without_offset = 0xffc07fff, store_and_move = 0xa9807bfd, store = 0xa9007bfd;
  constexpr std::uint32_t without_number = 0xffc003ff, add = 0x910003fd, padding = 0xd503201f;
  constexpr std::size_t soon = 8;
  const auto at = [&](std::size_t number) { return load<std::uint32_t>(code.subspan(4 * number), Endian::Little); };
  for (std::size_t number = code.size() / 4; number-- > 0;) {
    const std::uint32_t instruction = at(number);
    const bool is_return = instruction == aarch64_return || instruction == aarch64_signed_return;
    if (is_return && number + 1 < code.size() / 4 && at(number + 1) == padding) return std::nullopt;
    if ((instruction & without_number) != add) continue;
    for (std::size_t before = number; before-- > 0 && number - before <= soon;) {
      const std::uint32_t kind = at(before) & without_offset;
      if (kind == store_and_move || kind == store) return 4 * before;
    }
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::size_t> find_frame_pointer_setup(sframe::Abi abi, std::span<const std::byte> code,
                                                    std::uint64_t address) {
  if (abi == sframe::Abi::S390x) return std::nullopt;
  if (abi != sframe::Abi::Amd64) {
    const std::size_t to_instruction = std::min<std::size_t>((0 - address) % 4, code.size());
    const auto setup = find_setup_aarch64(code.subspan(to_instruction));
    return setup ? std::optional(*setup + to_instruction) : std::nullopt;
  }
  for (std::size_t place = code.size(); place-- > 0;) {
    if (is_end_amd64(code, place, address)) return std::nullopt;
    if (is_setup_amd64(code, place)) return follows_pop_amd64(code, place) ? std::nullopt : std::optional(place);
  }
  return std::nullopt;
}

bool begins_with_return(sframe::Abi abi, std::span<const std::byte> code) {
  if (abi == sframe::Abi::Amd64) return has_at(code, 0, {0xc3}) || has_at(code, 0, {0xc2});
  if (code.size() < sizeof aarch64_return) return false;
  const auto instruction = load<std::uint32_t>(code, Endian::Little);
  return instruction == aarch64_return || instruction == aarch64_signed_return;
}

bool may_return_between(sframe::Abi abi, std::span<const std::byte> before, std::span<const std::byte> after) {
  if (abi == sframe::Abi::Amd64) {
    // mov $15, %rax (or %eax); syscall: rt_sigreturn.
    return ends_in_call_amd64(before) || has_at(after, 0, {0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05}) ||
           has_at(after, 0, {0xb8, 0x0f, 0, 0, 0, 0x0f, 0x05});
  }
  // mov x8, #139; svc #0.
  return ends_in_call_aarch64(before) || has_at(after, 0, {0x68, 0x11, 0x80, 0xd2, 0x01, 0x00, 0x00, 0xd4});
}

namespace {

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
