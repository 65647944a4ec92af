#pragma once

#include "sframe/section.hpp"
#include "sframe/strictness.hpp"
#include "support/byte_reader.hpp"

namespace sframe_gen::sframe {

/// Reads a function's attribute and rows (2.3.2, 2.4) into `function`, whose start and size are known from the index.
/// `reader` stands at the attribute and ends with the row sub-section.
void decode_rows(ByteReader& reader, const AbiTraits& traits, Strictness strictness, Function& function);

}  // namespace sframe_gen::sframe
