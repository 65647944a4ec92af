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
struct RowShape {
  std::uint32_t row_count;
  RowAddressWidth row_address_width;
};

/// Reads the attribute of a version 3 function (2.3.2): `reader` stands there, `function` gets what it says.
RowShape decode_attribute(ByteReader& reader, const DecodingRules& rules, Function& function);

/// Reads the rest of a descriptor of the other versions: `reader` stands at its info byte.
RowShape decode_descriptor_tail(ByteReader& reader, std::uint32_t row_count, const DecodingRules& rules,
                                Function& function);

/// Reads a function's rows (2.4) into `function`, all else of which is known. `reader` stands at the first row and ends
/// with the row sub-section.
void decode_rows(ByteReader& reader, const RowShape& shape, const DecodingRules& rules, Function& function);

}  // namespace sframe_gen::sframe
