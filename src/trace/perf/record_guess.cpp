#include "trace/perf/record_guess.hpp"

#include <cstdint>

namespace sframe_gen::trace {

namespace {

constexpr std::size_t header = 8;
/// A smaller one is indexed before another thread has begun.
constexpr std::size_t least_size = std::size_t{16} << 20U;
/// A record has less than 64 KiB.
constexpr std::size_t farthest = std::size_t{1} << 17U;

/// Whether sizes lead from one to the next, of types that there are.
bool looks_like_records(std::span<const std::byte> bytes, Endian endian) {
  constexpr int in_a_row = 16;
  constexpr std::uint32_t last_type = 100;
  for (int i = 0; i < in_a_row; ++i) {
    if (bytes.size() < header) return false;
    const auto type = load<std::uint32_t>(bytes, endian);
    const std::size_t size = load<std::uint16_t>(bytes.subspan(6), endian);
    if (type == 0 || type > last_type || size < header || size % header != 0 || size > bytes.size()) return false;
    bytes = bytes.subspan(size);
  }
  return true;
}

}  // namespace

std::optional<std::size_t> guess_record(std::span<const std::byte> records, Endian endian) {
  if (records.size() < least_size) return std::nullopt;
  const std::size_t middle = records.size() / 2 / header * header;
  for (std::size_t at = middle; at < middle + farthest; at += header) {
    if (looks_like_records(records.subspan(at), endian)) return at;
  }
  return std::nullopt;
}

}  // namespace sframe_gen::trace
