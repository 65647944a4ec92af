#include "elf/undo/deflate.hpp"

#include <zlib.h>

#include <new>
#include <stdexcept>

namespace sframe_gen::elf {

namespace {

/// No stream of zlib's says more than 1032 bytes in one of its own.
constexpr std::uint64_t largest_ratio = 1032;

const Bytef* pointer(std::span<const std::byte> bytes) {
  return reinterpret_cast<const Bytef*>(bytes.data());
}

struct Deflater : z_stream {
  Deflater() : z_stream{} {
    if (::deflateInit(this, Z_BEST_COMPRESSION) != Z_OK) throw std::bad_alloc();
  }
  ~Deflater() { ::deflateEnd(this); }
  Deflater(const Deflater&) = delete;
  Deflater& operator=(const Deflater&) = delete;
};

struct Inflater : z_stream {
  Inflater() : z_stream{} {
    if (::inflateInit(this) != Z_OK) throw std::bad_alloc();
  }
  ~Inflater() { ::inflateEnd(this); }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;
};

}  // namespace

std::vector<std::byte> deflate(std::span<const std::byte> bytes, std::span<const std::byte> dictionary) {
  Deflater stream;
  ::deflateSetDictionary(&stream, pointer(dictionary), static_cast<uInt>(dictionary.size()));
  std::vector<std::byte> deflated(::deflateBound(&stream, bytes.size()));
  stream.next_in = const_cast<Bytef*>(pointer(bytes));
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(deflated.data());
  stream.avail_out = static_cast<uInt>(deflated.size());
  if (::deflate(&stream, Z_FINISH) != Z_STREAM_END) throw std::logic_error("deflateBound is too small");
  deflated.resize(stream.total_out);
  return deflated;
}

std::optional<std::vector<std::byte>> inflate(std::span<const std::byte> stream_bytes, std::uint64_t size,
                                              std::span<const std::byte> dictionary) {
  if (size / largest_ratio > stream_bytes.size()) return {};
  Inflater stream;
  std::vector<std::byte> bytes(size);
  stream.next_in = const_cast<Bytef*>(pointer(stream_bytes));
  stream.avail_in = static_cast<uInt>(stream_bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(bytes.data());
  stream.avail_out = static_cast<uInt>(bytes.size());
  int status = ::inflate(&stream, Z_FINISH);
  if (status == Z_NEED_DICT &&
      ::inflateSetDictionary(&stream, pointer(dictionary), static_cast<uInt>(dictionary.size())) == Z_OK)
    status = ::inflate(&stream, Z_FINISH);
  if (status != Z_STREAM_END || stream.total_out != size || stream.avail_in != 0) return {};
  return bytes;
}

}  // namespace sframe_gen::elf
