#include "elf/not_elf.hpp"

#include <algorithm>
#include <array>
#include <string_view>

namespace sframe_gen::elf {

namespace {

using namespace std::string_view_literals;

struct Known {
  std::string_view start;  ///< of the file
  std::string_view why;
};

/// RFC 1952; the .xz file format, 2.1.1.1; RFC 8878; the LZ4 frame format, and the older one that kernel builds use;
/// LLVM bitcode file format, "Magic Numbers" and "Bitcode Wrapper Format" (0x0B17C0DE, little-endian).
constexpr std::array known{
    Known{"\x1f\x8b"sv, "is compressed with gzip; decompress it first (gzip -d)"},
    Known{"\xfd"
          "7zXZ\0"sv,
          "is compressed with xz; decompress it first (xz -d)"},
    Known{"\x28\xb5\x2f\xfd"sv, "is compressed with zstd; decompress it first (zstd -d)"},
    Known{"\x04\x22\x4d\x18"sv, "is compressed with lz4; decompress it first (lz4 -d)"},
    Known{"\x02\x21\x4c\x18"sv, "is compressed with lz4; decompress it first (lz4 -d)"},
    Known{"BZh"sv, "is compressed with bzip2; decompress it first (bzip2 -d)"},
    Known{"BC\xc0\xde"sv, "is LLVM bitcode, which is no machine code yet; convert what it is linked into"},
    Known{"\xde\xc0\x17\x0b"sv, "is LLVM bitcode, which is no machine code yet; convert what it is linked into"},
};

}  // namespace

std::string why_not_elf(std::span<const std::byte> bytes) {
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  const auto found = std::ranges::find_if(known, [&](const Known& format) { return text.starts_with(format.start); });
  return found == known.end() ? "is not an ELF file" : std::string(found->why);
}

}  // namespace sframe_gen::elf
