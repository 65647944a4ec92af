#pragma once

#include <cstddef>
#include <span>

#include "sframe_gen/format.hpp"

namespace sframe_gen::emit::compact {

/// Whether `code`, which lies between two functions, is nothing but what compilers, assemblers and linkers fill such
/// places with: instructions that do nothing, traps, and, where `zeros_are_filler`, zeros. Each byte of each
/// instruction is looked at; anything else is taken for code.
///
///   x86-64   90, 66 90, 0f 1f /0 of every length, behind any number of 66 and 2e; cc
///   aarch64  nop, udf, brk
///   s390x    nopr (07 0x), nop (47 0x), jnop (a7 04), jgnop (c0 04)
bool is_padding(std::span<const std::byte> code, sframe::Abi abi, bool zeros_are_filler);

/// Bytes of such padding that `code` begins with.
std::size_t padding_before(std::span<const std::byte> code, sframe::Abi abi, bool zeros_are_filler);

}  // namespace sframe_gen::emit::compact
