#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace sframe_gen::fuzz {

/// Changes one to three bytes, the same ones for each seed.
void change_bytes(std::span<std::uint8_t> bytes, unsigned seed);

/// What changes bytes without knowing what they are: LLVMFuzzerMutate(), or null for change_bytes().
using Mutate = std::size_t (*)(std::uint8_t* data, std::size_t size, std::size_t most);

/// Changes a little-endian ELF file of 64 bits in one place: a field of a header, the bytes of a section, or a record
/// of .eh_frame. All else stays, so that readers come far. Returns false if it is no such file.
bool mutate_elf(std::span<std::uint8_t> file, unsigned seed, Mutate mutate);

}  // namespace sframe_gen::fuzz
