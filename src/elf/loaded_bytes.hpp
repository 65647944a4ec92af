#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "elf/image.hpp"

namespace sframe_gen::elf {

/// The bytes that the file has from a virtual address on, up to the end of the PT_LOAD's file bytes that hold it; empty
/// where there are none. Believes nothing: a PT_LOAD outside the file holds nothing.
std::span<const std::byte> loaded_bytes_from(const Image& image, std::uint64_t address);

/// The same, of a given size; empty where the file does not have all of it.
std::span<const std::byte> loaded_bytes(const Image& image, std::uint64_t address, std::uint64_t size);

/// Where in the file such bytes stand.
std::uint64_t offset_of(const Image& image, std::span<const std::byte> bytes);

}  // namespace sframe_gen::elf
