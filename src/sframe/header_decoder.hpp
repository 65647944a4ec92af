#pragma once

#include <cstdint>
#include <span>

#include "sframe/abi.hpp"
#include "sframe/version.hpp"
#include "sframe_gen/error.hpp"
#include "sframe_gen/section.hpp"

namespace sframe_gen::sframe {

/// sframe_header (2.2) after its checks: the sub-sections lie in the section, in this order, none over another.
///
///     | header | auxiliary header | … | function index | … | rows | … |
struct Header {
  Endian endian;
  const VersionTraits* version;
  std::uint8_t flags;
  const AbiTraits* traits;
  std::int8_t fixed_fp_offset;
  std::int8_t fixed_ra_offset;
  std::uint32_t fde_count;
  std::uint32_t fre_count;
  std::uint64_t end;           ///< offset in the section of the first byte after the auxiliary header
  std::uint64_t index_offset;  ///< offset in the section of the function index
  std::uint64_t index_end;
  std::uint64_t fres_offset;  ///< offset in the section of the row sub-section
  std::uint64_t fres_end;
};

/// Throws MalformedInput, and Refused for a version that is not known.
Header decode_header(std::span<const std::byte> bytes, Family family, const Origin& origin,
                     const Strictness& strictness);

}  // namespace sframe_gen::sframe
