#pragma once

#include "emit/dialect.hpp"
#include "sframe/format.hpp"
#include "sframe_gen/section.hpp"
#include "support/byte_writer.hpp"

namespace sframe_gen::emit {

/// GNU as takes the width from the function's size, never from the largest row start: 255 → 1, 256 → 2, 65536 → 4.
sframe::FreAddressWidth fre_address_width(std::uint32_t function_size);

/// Writes one row: start, info byte, data words of the narrowest width that holds them all.
void encode_fre(ByteWriter& writer, const sframe::Fre& fre, sframe::FreAddressWidth width, sframe::FdeType type,
                const Dialect& dialect);

}  // namespace sframe_gen::emit
