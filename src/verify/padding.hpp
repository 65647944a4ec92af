#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "elf/image.hpp"
#include "sframe_gen/format.hpp"

namespace sframe_gen::verify {

/// Whether [begin, end) of the file's code holds nothing that a program would run: instructions that do nothing or
/// trap, and zeros. A compact section's rows may go on over such PCs between functions. Decodes instructions, where
/// what wrote the section compares with a list: the judge shares no code with the judged.
bool is_padding(const elf::Image& image, sframe::Abi abi, std::uint64_t begin, std::uint64_t end);

/// Bytes of the instruction that `code` begins with, if it does nothing or traps; else 0. May be more than there are.
std::size_t idle_size(std::span<const std::byte> code, sframe::Abi abi);

/// Where such instructions end that begin at `begin` and go on to `end` at least, and to `limit` at most. No value:
/// something else stands there.
std::optional<std::uint64_t> padding_end(const elf::Image& image, sframe::Abi abi, std::uint64_t begin,
                                         std::uint64_t end, std::uint64_t limit);

}  // namespace sframe_gen::verify
