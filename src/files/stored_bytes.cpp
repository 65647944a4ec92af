#include "files/stored_bytes.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "support/bytes.hpp"

namespace sframe_gen::files {

Range next_stored(int descriptor, std::uint64_t from, std::uint64_t to) {
  const off_t data = ::lseek(descriptor, static_cast<off_t>(from), SEEK_DATA);
  // After the last data. Any other error, such as EINVAL, is of a file system that does not tell holes apart.
  if (data < 0 && errno == ENXIO) return {to, to};
  if (data < 0) return {from, to};
  const off_t hole = ::lseek(descriptor, data, SEEK_HOLE);
  return {std::min(static_cast<std::uint64_t>(data), to),
          hole < 0 ? to : std::min(static_cast<std::uint64_t>(hole), to)};
}

std::span<const std::byte> read_piece(int descriptor, std::uint64_t from, std::span<std::byte> buffer) {
  ssize_t done = 0;
  do {
    errno = 0;
    done = ::pread(descriptor, buffer.data(), buffer.size(), static_cast<off_t>(from));
  } while (done < 0 && errno == EINTR);
  return buffer.first(static_cast<std::size_t>(std::max<ssize_t>(done, 0)));
}

namespace {

/// As many bytes as stay in a processor's own cache.
using Buffer = std::array<std::byte, std::size_t{1} << 15>;

std::span<const std::byte> read_at(FilePlace place, std::uint64_t at, std::uint64_t end, Buffer& buffer) {
  return read_piece(place.descriptor, place.offset + at,
                    std::span(buffer).first(std::min<std::uint64_t>(end - at, buffer.size())));
}

Range next_stored_at(FilePlace place, std::uint64_t at, std::uint64_t end) {
  const Range stored = next_stored(place.descriptor, place.offset + at, place.offset + end);
  return {stored.begin - place.offset, stored.end - place.offset};
}

bool has_zeros(FilePlace place, std::uint64_t at, std::uint64_t end) {
  Buffer buffer;
  while (at < end) {
    const Range stored = next_stored_at(place, at, end);
    for (at = stored.begin; at < stored.end;) {
      const auto piece = read_at(place, at, stored.end, buffer);
      const bool are_zeros = std::ranges::all_of(piece, [](std::byte byte) { return byte == std::byte{0}; });
      if (piece.empty() || !are_zeros) return false;
      at += piece.size();
    }
  }
  return true;
}

bool has_same(FilePlace a, FilePlace b, std::uint64_t at, std::uint64_t end) {
  Buffer buffer_of_a, buffer_of_b;
  while (at < end) {
    const auto of_a = read_at(a, at, end, buffer_of_a), of_b = read_at(b, at, end, buffer_of_b);
    const std::size_t size = std::min(of_a.size(), of_b.size());
    if (size == 0 || !equal_bytes(of_a.first(size), of_b.first(size))) return false;
    at += size;
  }
  return true;
}

}  // namespace

bool have_same_bytes(FilePlace a, FilePlace b, std::uint64_t size) {
  for (std::uint64_t at = 0; at < size;) {
    const Range stored = next_stored_at(a, at, size);
    if (!has_zeros(b, at, stored.begin) || !has_same(a, b, stored.begin, stored.end)) return false;
    at = stored.end;
  }
  return true;
}

}  // namespace sframe_gen::files
