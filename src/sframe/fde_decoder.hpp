#pragma once

#include "sframe/abi.hpp"
#include "sframe/format.hpp"
#include "sframe/version.hpp"
#include "sframe_gen/section.hpp"
#include "support/byte_reader.hpp"

namespace sframe_gen::sframe {

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

}  // namespace sframe_gen::sframe
