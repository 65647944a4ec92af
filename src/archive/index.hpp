#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sframe_gen/error.hpp"

namespace sframe_gen::archive {

/// The symbol index: a big-endian count, a member's header's offset for each symbol, and the symbols' names.
struct Index {
  enum class Kind : std::uint8_t {
    Gnu,      ///< "/": 32-bit numbers
    GnuWide,  ///< "/SYM64/": 64-bit numbers
    Bsd,      ///< "__.SYMDEF": another form, in the byte order of the members; not read
  };
  Kind kind = Kind::Gnu;
  std::uint64_t offsets_at = 0;               ///< in the archive, of the first number
  std::vector<std::uint64_t> header_offsets;  ///< in the archive, one a symbol

  std::uint64_t number_size() const { return kind == Kind::GnuWide ? 8 : 4; }
};

/// The index of `size` bytes at `offset` of the archive. Throws MalformedInput. The offsets are not looked at.
Index read_index(std::span<const std::byte> archive, std::uint64_t offset, std::uint64_t size, Index::Kind kind,
                 const Origin& origin);

/// The bytes of other offsets in the same form; `file` is for the message. Throws Refused when one does not fit.
std::vector<std::byte> index_bytes(const Index& index, std::span<const std::uint64_t> header_offsets,
                                   const std::string& file);

}  // namespace sframe_gen::archive
