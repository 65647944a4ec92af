#pragma once

#include <optional>

#include "sframe/format.hpp"
#include "sframe/function_decoder.hpp"
#include "sframe_gen/section.hpp"
#include "support/byte_reader.hpp"

namespace sframe_gen::sframe {

/// Reads the data words behind a row's info byte (chapter 3): `reader` stands at the first of them. No value where
/// the row has no words: the return address is undefined.
std::optional<Recovery> decode_recovery(ByteReader& reader, RowInfo info, DescriptorType type,
                                        const DecodingRules& rules);

}  // namespace sframe_gen::sframe
