#include "trace/walk/mini_debug_info.hpp"

#include <lzma.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>

#include "sframe_gen/error.hpp"

namespace sframe_gen::trace::walk {

namespace {

/// Of the decoder: that of `xz -9` needs 65 MiB.
constexpr std::uint64_t most_memory = std::uint64_t{96} << 20U;
/// Of what it makes. A section can be as large as a sparse file says.
constexpr std::size_t most_times = 64, always_allowed = std::size_t{16} << 20U, most_ever = std::size_t{64} << 20U;

/// Empty: they are no .xz file, or a longer one than `most`.
std::vector<std::byte> decompressed(std::span<const std::byte> bytes, std::size_t most) {
  lzma_stream stream = LZMA_STREAM_INIT;
  if (lzma_stream_decoder(&stream, most_memory, 0) != LZMA_OK) return {};
  std::vector<std::byte> all;
  std::array<std::byte, std::size_t{1} << 16U> piece{};
  stream.next_in = reinterpret_cast<const std::uint8_t*>(bytes.data());
  stream.avail_in = bytes.size();
  lzma_ret result = LZMA_OK;
  while (result == LZMA_OK && all.size() <= most) {
    stream.next_out = reinterpret_cast<std::uint8_t*>(piece.data());
    stream.avail_out = piece.size();
    result = lzma_code(&stream, LZMA_FINISH);
    all.insert(all.end(), piece.begin(), piece.end() - static_cast<std::ptrdiff_t>(stream.avail_out));
  }
  lzma_end(&stream);
  return result == LZMA_STREAM_END && all.size() <= most ? all : std::vector<std::byte>();
}

}  // namespace

std::vector<std::byte> mini_debug_info(const elf::Image& image) try {
  const elf::Section* const section = image.find_section(".gnu_debugdata");
  if (section == nullptr) return {};
  const auto bytes = image.bytes_of(*section);
  return decompressed(bytes, std::clamp(bytes.size() * most_times, always_allowed, most_ever));
} catch (const Failure&) {
  return {};
}

}  // namespace sframe_gen::trace::walk
