#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "sframe_gen/error.hpp"

namespace sframe_gen::archive {

/// What a header says as it stands.
struct RawMember {
  std::string_view name;  ///< without the spaces behind it; lives in the archive's bytes
  std::uint64_t header_offset;
  std::uint64_t size;  ///< as the header says: it may not be there

  std::uint64_t name_offset() const;
  std::uint64_t size_offset() const;
  std::uint64_t data_offset() const;
};

/// The header at `offset`. Throws MalformedInput.
RawMember read_member_header(std::span<const std::byte> archive, std::uint64_t offset, const Origin& origin);

/// A number in decimal: nothing for an empty text, other characters, and what does not fit in 64 bits.
bool read_decimal(std::string_view text, std::uint64_t& value);

}  // namespace sframe_gen::archive
