#include "trace/perf/compressed_records.hpp"

#include <zstd.h>

#include <utility>

#include "sframe_gen/error.hpp"

namespace sframe_gen::trace {

namespace {

/// Stacks are mostly zeros or the same from sample to sample, and compress well.
std::uint64_t most_decompressed(std::uint64_t file_size) {
  return (std::uint64_t{64} << 20U) + 256 * file_size;
}

}  // namespace

std::span<const std::byte> CompressedRecords::add(std::span<const std::byte> part, std::uint64_t offset) {
  if (!stream_)
    stream_ =
        std::shared_ptr<void>(ZSTD_createDStream(), [](void* s) { ZSTD_freeDStream(static_cast<ZSTD_DStream*>(s)); });
  auto* const stream = static_cast<ZSTD_DStream*>(stream_.get());
  const Origin origin{file_, "compressed record"};
  std::vector<std::byte> made = std::exchange(left_over_, {});
  ZSTD_inBuffer in{part.data(), part.size(), 0};
  bool is_full = true;
  while (in.pos < in.size || is_full) {
    const std::size_t before = made.size();
    made.resize(before + ZSTD_DStreamOutSize());
    ZSTD_outBuffer out{made.data() + before, made.size() - before, 0};
    const std::size_t result = ZSTD_decompressStream(stream, &out, &in);
    if (ZSTD_isError(result) != 0) throw MalformedInput(origin, offset, ZSTD_getErrorName(result));
    is_full = out.pos == out.size;
    made.resize(before + out.pos);
    size_ += out.pos;
    if (size_ > most_decompressed(file_size_)) {
      throw MalformedInput(origin, offset, "more than 256 times the file's size is compressed in it");
    }
  }
  contents_.push_back(std::move(made));
  return contents_.back();
}

}  // namespace sframe_gen::trace
