#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "sframe/format.hpp"
#include "sframe_gen/error.hpp"
#include "sframe_gen/section.hpp"
#include "support/bytes.hpp"

namespace sframe_gen::sframe {

/// Of something that does not hinder reading: noted where that is asked for, else thrown as MalformedInput.
inline void remark(const Strictness& strictness, const ByteReader& reader, std::uint64_t offset,
                   const std::string& what) {
  constexpr std::size_t most_remarks = 16;  // a damaged section may have one for each of its bytes
  if (strictness.remarks == nullptr) reader.fail(offset, what);
  if (strictness.remarks->size() < most_remarks)
    strictness.remarks->push_back(MalformedInput(reader.origin(), offset, what).what());
}

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

/// What the decoding of a function depends on.
struct DecodingRules {
  const VersionTraits& version;
  const AbiTraits& abi;
  Strictness strictness;
};

/// What a function says of its rows.
struct FreShape {
  std::uint32_t fre_count;
  FreAddressWidth fre_address_width;
};

/// Reads the attribute of a version 3 function (2.3.2): `reader` stands there, `fde` gets what it says.
FreShape decode_attribute(ByteReader& reader, const DecodingRules& rules, Fde& fde);

/// Reads the rest of a descriptor of the other versions: `reader` stands at its info byte.
FreShape decode_descriptor_tail(ByteReader& reader, std::uint32_t fre_count, const DecodingRules& rules, Fde& fde);

/// Reads a function's rows (2.4) into `fde`, all else of which is known. `reader` stands at the first row and ends
/// with the row sub-section.
void decode_fres(ByteReader& reader, const FreShape& shape, const DecodingRules& rules, Fde& fde);

/// Reads the data words behind a row's info byte (chapter 3): `reader` stands at the first of them. No value where
/// the row has no words: the return address is undefined.
std::optional<RecoveryRules> decode_recovery(ByteReader& reader, FreInfo info, FdeType type,
                                             const DecodingRules& rules);

}  // namespace sframe_gen::sframe
