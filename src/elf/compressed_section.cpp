#include "elf/compressed_section.hpp"

#include <zlib.h>
#include <zstd.h>

#include <cstdint>

#include "elf/constants.hpp"
#include "support/byte_reader.hpp"
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

}  // namespace

std::vector<std::byte> decompress(std::span<const std::byte> bytes, Endian endian, const Origin& origin) {
  ByteReader reader(bytes, endian, origin);
  const std::uint32_t type = reader.u32("compression type");
  reader.u32("reserved word of the compression header");
  const std::uint64_t size = reader.u64("decompressed size");
  reader.u64("decompressed alignment");
  if (type != compression_zlib && type != compression_zstd) {
    throw Refused(origin.file, origin.section + " is compressed by method " + std::to_string(type) +
                                   ", which is neither zlib (1) nor zstd (2)");
  }
  const auto stream = reader.take(reader.left(), "compressed stream");
  if (size > always_allowed && size / largest_ratio > stream.size())
    reader.fail(8,
                "decompressed size " + hex(size) + " is impossible for a stream of " + hex(stream.size()) + " bytes");
  std::vector<std::byte> contents(size);
  const std::uint64_t written =
      type == compression_zlib ? inflate_zlib(stream, contents) : inflate_zstd(stream, contents);
  if (written == UINT64_MAX) reader.fail(sizeof(Elf64_Chdr), "compressed stream is damaged");
  if (written != size) reader.fail(8, "decompressed size is " + hex(size) + ", but the stream gives " + hex(written));
  return contents;
}

}  // namespace sframe_gen::elf
