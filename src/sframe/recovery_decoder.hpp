#pragma once

#include <optional>

#include "sframe/fde_decoder.hpp"
#include "sframe/format.hpp"
#include "sframe_gen/section.hpp"
#include "support/byte_reader.hpp"

namespace sframe_gen::sframe {

/// Reads the data words behind a row's info byte (chapter 3): `reader` stands at the first of them. No value where
/// the row has no words: the return address is undefined.
std::optional<RecoveryRules> decode_recovery(ByteReader& reader, FreInfo info, FdeType type,
                                             const DecodingRules& rules);

}  // namespace sframe_gen::sframe
