#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "code/instruction.hpp"

namespace sframe_gen::code {

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

  /// Whether decoders can be made: the reason why not, else empty.
  static std::string why_missing();

 private:
  struct Library;
  std::unique_ptr<Library> library_;
};

}  // namespace sframe_gen::code
