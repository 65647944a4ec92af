#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "sframe_gen/error.hpp"
#include "support/endian.hpp"
#include "verify/synthetic_context.hpp"

namespace sframe_gen::verify {

/// Runs a DWARF expression in the context, with `initial` on the stack if given, and returns what is on top at the
/// end; nothing when an operation is none of those call frame information can use (DWARF 5, section 2.5.1) or the
/// stack runs out. Throws MalformedInput for truncated operands, at offsets in the block.
std::optional<std::uint64_t> expression_value(std::span<const std::byte> block, std::optional<std::uint64_t> initial,
                                              const SyntheticContext& context, Endian endian, const Origin& origin);

}  // namespace sframe_gen::verify
