#include "elf/compressed_section.hpp"

#include <zlib.h>
#include <zstd.h>

#include <cstdint>

#include "elf/records.hpp"
#include "support/bytes.hpp"
#include "support/text.hpp"

namespace sframe_gen::elf {

namespace {

constexpr std::uint32_t compression_zlib = 1;
constexpr std::uint32_t compression_zstd = 2;  // ELFCOMPRESS_ZSTD, not in the <elf.h> of glibc 2.36

/// A stream that claims to grow more than this is a bomb, not call frame information: that of real programs shrinks to
/// a fifth, and what is small may claim what it likes.
constexpr std::uint64_t largest_ratio = 64;
constexpr std::uint64_t always_allowed = 16U << 20U;

std::uint64_t inflate_zlib(std::span<const std::byte> stream, std::span<std::byte> contents) {
  uLongf size = contents.size();
  const int status = ::uncompress(reinterpret_cast<Bytef*>(contents.data()), &size,
                                  reinterpret_cast<const Bytef*>(stream.data()), stream.size());
  return status == Z_OK ? size : UINT64_MAX;
}

std::uint64_t inflate_zstd(std::span<const std::byte> stream, std::span<std::byte> contents) {
  const std::size_t size = ::ZSTD_decompress(contents.data(), contents.size(), stream.data(), stream.size());
  return ::ZSTD_isError(size) != 0 ? UINT64_MAX : size;
}

using Inflate = std::uint64_t (*)(std::span<const std::byte>, std::span<std::byte>);

/// What is left of the section, which says its size at `size_at`.
std::vector<std::byte> inflate_rest(ByteReader& reader, std::uint64_t size, std::uint64_t size_at, Inflate inflate) {
  const std::uint64_t stream_at = reader.offset();
  const auto stream = reader.take(reader.left(), "compressed stream");
  if (is_impossible_growth(stream.size(), size))
    reader.fail(size_at,
                "decompressed size " + hex(size) + " is impossible for a stream of " + count_of(stream.size(), "byte"));
  std::vector<std::byte> contents(size);
  const std::uint64_t written = inflate(stream, contents);
  if (written == UINT64_MAX) reader.fail(stream_at, "compressed stream is damaged");
  if (written != size)
    reader.fail(size_at, "decompressed size is " + hex(size) + ", but the stream gives " + hex(written));
  return contents;
}

}  // namespace

bool is_impossible_growth(std::uint64_t stored, std::uint64_t size) {
  return size > always_allowed && size / largest_ratio > stored;
}

std::vector<std::byte> decompress(std::span<const std::byte> bytes, Endian endian, const InputOrigin& origin) {
  ByteReader reader(bytes, endian, origin);
  const std::uint32_t type = reader.u32("compression type");
  reader.u32("reserved word of the compression header");
  const std::uint64_t size = reader.u64("decompressed size");
  reader.u64("decompressed alignment");
  if (type != compression_zlib && type != compression_zstd) {
    throw Refused(origin.file, origin.section + " is compressed by method " + std::to_string(type) +
                                   ", which is neither zlib (1) nor zstd (2)");
  }
  return inflate_rest(reader, size, 8, type == compression_zlib ? inflate_zlib : inflate_zstd);
}

std::vector<std::byte> decompress_zdebug(std::span<const std::byte> bytes, const InputOrigin& origin) {
  ByteReader reader(bytes, Endian::Big, origin);
  constexpr std::uint32_t zlib_in_letters = 0x5a4c4942;
  if (reader.u32("compression method") != zlib_in_letters) reader.fail(0, "compression method is not \"ZLIB\"");
  const std::uint64_t size = reader.u64("decompressed size");
  return inflate_rest(reader, size, 4, inflate_zlib);
}

}  // namespace sframe_gen::elf
