#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace sframe_gen::elf {

/// A zlib stream (RFC 1950) of `bytes`. What `dictionary` holds already, of which the last 32 KiB count, costs next to
/// nothing.
std::vector<std::byte> deflate(std::span<const std::byte> bytes, std::span<const std::byte> dictionary);

/// The `size` bytes of such a stream. Nothing when the stream is damaged, was made with another dictionary, or has
/// another size.
std::optional<std::vector<std::byte>> inflate(std::span<const std::byte> stream, std::uint64_t size,
                                              std::span<const std::byte> dictionary);

}  // namespace sframe_gen::elf
