#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "rows/proof/instruction.hpp"

namespace sframe_gen::rows::proof {

/// Decodes x86-64 instructions by Zydis, which is loaded when the first decoder is made: programs that prove nothing
/// start without it.
///
/// The library's file name holds the version whose interface it has: libZydis.so.4.0 in Debian 12, libZydis.so.4.1 in
/// Debian 13. A program that was built with 4.0 works with both. Zydis 3 has another interface and does not count.
class Decoder {
 public:
  /// Throws Refused, which names `file` and the option that asks, if sframe-gen was built without Zydis or the library
  /// cannot be loaded.
  explicit Decoder(const std::string& file, std::string_view option = "--against=code");
  ~Decoder();
  Decoder(const Decoder&) = delete;
  Decoder& operator=(const Decoder&) = delete;

  /// Decodes the instruction at the start of `bytes`, which stand at `address`. Size 0: there is none.
  Instruction decode(std::span<const std::byte> bytes, std::uint64_t address) const;
  /// Returns the instruction in Intel's notation, as "sub rsp, 0x18"; empty if there is none.
  std::string text_of(std::span<const std::byte> bytes, std::uint64_t address) const;

  /// Whether an instruction with this first byte may do nothing or trap: the byte is a prefix, begins an opcode of two
  /// bytes, or is NOP, INT3 or HLT (AMD64 Architecture Programmer's Manual, volume 3, appendix A).
  static constexpr bool may_begin_padding(std::byte first);

  /// Whether decoders can be made: the reason why not, else empty.
  static std::string why_missing();

 private:
  struct Library;
  std::unique_ptr<Library> library_;
};

constexpr bool Decoder::may_begin_padding(std::byte first) {
  switch (std::to_integer<unsigned>(first)) {
    case 0x0f:  // two bytes: the longer NOPs, ENDBR64, UD0, UD1, UD2
    case 0x26:  // segments
    case 0x2e:
    case 0x36:
    case 0x3e:
    case 0x64:
    case 0x65:
    case 0x66:  // sizes
    case 0x67:
    case 0x90:  // NOP
    case 0xcc:  // INT3
    case 0xf0:  // LOCK, REP
    case 0xf2:
    case 0xf3:
    case 0xf4:  // HLT
      return true;
    default:
      return (first & std::byte{0xf0}) == std::byte{0x40};  // REX
  }
}

}  // namespace sframe_gen::rows::proof
