#include "emit/compact/padding.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "support/endian.hpp"

namespace sframe_gen::emit::compact {

namespace {

using Code = std::span<const std::byte>;

unsigned at(Code code, std::size_t index) {
  return std::to_integer<unsigned>(code[index]);
}

/// What may stand before a nop: operand size (66), which gas repeats to fill, and the segment prefix of %cs (2e).
bool is_idle_prefix(unsigned byte) {
  return byte == 0x66 || byte == 0x2e;
}

/// The nop that `code` begins with, of "Recommended Multi-Byte Sequence of NOP Instruction" (Intel SDM, volume 2B,
/// NOP), without prefixes: 90, or 0f 1f with what its ModRM byte asks for, all zeros. 0: none.
std::size_t nop_of_amd64(Code code) {
  if (code.empty()) return 0;
  if (at(code, 0) == 0x90) return 1;
  if (code.size() < 3 || at(code, 0) != 0x0f || at(code, 1) != 0x1f) return 0;
  std::size_t size = 0;
  switch (at(code, 2)) {
    case 0x00:
      size = 3;
      break;
    case 0x40:
      size = 4;
      break;
    case 0x44:
      size = 5;
      break;
    case 0x80:
      size = 7;
      break;
    case 0x84:
      size = 8;
      break;
    default:
      return 0;
  }
  if (code.size() < size) return 0;
  const bool zeros = std::ranges::all_of(code.subspan(3, size - 3), [](std::byte byte) { return byte == std::byte{}; });
  return zeros ? size : 0;
}

constexpr unsigned int3 = 0xcc;

/// Bytes of the filler that `code` begins with; 0: none.
std::size_t filler_of_amd64(Code code) {
  constexpr std::size_t longest_instruction = 15;
  std::size_t prefixes = 0;
  while (prefixes < code.size() && is_idle_prefix(at(code, prefixes))) ++prefixes;
  if (prefixes == 0 && at(code, 0) == int3) return 1;
  const std::size_t nop = nop_of_amd64(code.subspan(prefixes));
  return nop != 0 && prefixes + nop <= longest_instruction ? prefixes + nop : 0;
}

/// The one nop of `size` bytes that GNU as and LLVM fill most gaps with, or null.
const char* usual_nop_of_amd64(std::size_t size) {
  static constexpr char longest[] = "\x66\x66\x66\x66\x66\x66\x2e\x0f\x1f\x84\0\0\0\0";  // and the zero behind it
  switch (size) {
    case 1:
      return "\x90";
    case 2:
      return "\x66\x90";
    case 3:
      return "\x0f\x1f\0";
    case 4:
      return "\x0f\x1f\x40\0";
    case 5:
      return "\x0f\x1f\x44\0\0";
    case 6:
      return "\x66\x0f\x1f\x44\0\0";
    case 7:
      return "\x0f\x1f\x80\0\0\0\0";
    case 9:
      return "\x66\x0f\x1f\x84\0\0\0\0\0";
    case 8:
    case 10:
    case 11:
    case 12:
    case 13:
    case 14:
    case 15:
      return &longest[sizeof longest - size];
    default:
      return nullptr;
  }
}

/// Instructions are little-endian in both byte orders (Arm ARM, B2.6.2).
std::size_t filler_of_aarch64(Code code) {
  if (code.size() < 4) return 0;
  const auto word = load<std::uint32_t>(code, Endian::Little);
  const bool nop = word == 0xd503201f;
  const bool udf = word <= 0xffff;
  const bool brk = (word & 0xffe0001fU) == 0xd4200000U;
  return nop || udf || brk ? 4 : 0;
}

/// Branches on no condition: the mask, which is the high half of the second byte, is 0 (z/Architecture Principles of
/// Operation, BRANCH ON CONDITION, BRANCH RELATIVE ON CONDITION).
std::size_t filler_of_s390x(Code code) {
  if (code.size() < 2) return 0;
  const unsigned opcode = at(code, 0), second = at(code, 1);
  if (opcode == 0x07 && second <= 0x0f) return 2;
  if (opcode == 0x47 && second <= 0x0f && code.size() >= 4) return 4;
  if (opcode == 0xa7 && second == 0x04 && code.size() >= 4) return 4;
  if (opcode == 0xc0 && second == 0x04 && code.size() >= 6) return 6;
  return 0;
}

std::size_t filler_of(Code code, sframe::Abi abi) {
  switch (abi) {
    case sframe::Abi::Amd64:
      return filler_of_amd64(code);
    case sframe::Abi::Aarch64Big:
    case sframe::Abi::Aarch64Little:
      return filler_of_aarch64(code);
    case sframe::Abi::S390x:
      return filler_of_s390x(code);
  }
  return 0;
}

/// Of instructions.
std::size_t alignment_of(sframe::Abi abi) {
  switch (abi) {
    case sframe::Abi::Amd64:
      return 1;
    case sframe::Abi::Aarch64Big:
    case sframe::Abi::Aarch64Little:
      return 4;
    case sframe::Abi::S390x:
      return 2;
  }
  return 1;
}

}  // namespace

bool is_padding(Code code, sframe::Abi abi, bool zeros_are_filler) {
  if (abi == sframe::Abi::Amd64) {
    const char* const usual = usual_nop_of_amd64(code.size());
    if (usual != nullptr && std::memcmp(code.data(), usual, code.size()) == 0) return true;
  }
  return padding_before(code, abi, zeros_are_filler) == code.size();
}

std::size_t padding_before(Code code, sframe::Abi abi, bool zeros_are_filler) {
  std::size_t padding = 0;
  while (padding < code.size()) {
    const Code rest = code.subspan(padding);
    const bool zero = at(rest, 0) == 0;
    const std::size_t size = zero ? std::size_t{zeros_are_filler} : filler_of(rest, abi);
    if (size == 0) break;
    padding += size;
  }
  // The instruction that is no padding may begin with zeros.
  return padding == code.size() ? padding : padding - padding % alignment_of(abi);
}

}  // namespace sframe_gen::emit::compact
