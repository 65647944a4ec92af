#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "sframe_gen/error.hpp"
#include "support/endian.hpp"

namespace sframe_gen::elf {

/// Whether compressed bytes claim to have been more than any real ones: a small file could take any amount of memory.
bool is_impossible_growth(std::uint64_t stored, std::uint64_t size);

/// Contents of an SHF_COMPRESSED section: an Elf64_Chdr, then a zlib or zstd stream (gABI, chapter 4).
/// Throws MalformedInput when the stream is damaged or gives another size than the header says, and Refused for
/// other compression types.
std::vector<std::byte> decompress(std::span<const std::byte> bytes, Endian endian, const InputOrigin& origin);

/// Contents of a section named .zdebug_…, of the time before SHF_COMPRESSED: "ZLIB", the size in 8 big-endian bytes,
/// whatever the file's order, then a zlib stream. Throws MalformedInput.
std::vector<std::byte> decompress_zdebug(std::span<const std::byte> bytes, const InputOrigin& origin);

}  // namespace sframe_gen::elf
