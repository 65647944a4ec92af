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

/// The best compression takes three to ten times as long as the usual one, up to a third of a millisecond, to save 13
/// to 23 bytes of some hundred: it goes through all the zeros of headers. What zlib has to clear before it begins takes
/// as long again, so what is small gets small tables.
struct Deflater : z_stream {
  /// `size`: of the bytes and the dictionary.
  explicit Deflater(std::size_t size) : z_stream{} {
    constexpr int small_window = 14, small_memory = 5, usual_memory = 8;
    const bool is_small = size <= std::size_t{1} << small_window;
    if (::deflateInit2(this, Z_DEFAULT_COMPRESSION, Z_DEFLATED, is_small ? small_window : MAX_WBITS,
                       is_small ? small_memory : usual_memory, Z_DEFAULT_STRATEGY) != Z_OK)
      throw std::bad_alloc();
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
  Deflater stream(bytes.size() + dictionary.size());
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
