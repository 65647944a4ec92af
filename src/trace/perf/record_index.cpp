#include "trace/perf/record_index.hpp"

#include <boost/sort/spinsort/spinsort.hpp>
#include <zstd.h>

#include <cstdint>
#include <utility>

#include "sframe_gen/error.hpp"
#include "support/workers.hpp"
#include "support/text.hpp"

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

namespace {

// What perf adds to the kernel's types of records.
constexpr std::uint32_t first_of_perf = 64, tracing_data = 66, auxiliary_trace = 71, compressed = 81;

struct RecordHead {
  std::uint32_t type;
  std::uint16_t flags;
  std::size_t size;  ///< with the head
};

/// Of bytes that have one.
RecordHead read_head(std::span<const std::byte> bytes, Endian endian) {
  return {load<std::uint32_t>(bytes, endian), load<std::uint16_t>(bytes.subspan(4), endian),
          load<std::uint16_t>(bytes.subspan(6), endian)};
}

/// Two kinds are followed by bytes that their size does not count.
std::uint64_t size_behind(std::uint32_t type, std::span<const std::byte> whole, Endian endian) {
  if (type == auxiliary_trace && whole.size() >= 16) return load<std::uint64_t>(whole.subspan(8), endian);
  if (type == tracing_data && whole.size() >= 12) return load<std::uint32_t>(whole.subspan(8), endian);
  return 0;
}

/// Samples with a stack have some kilobytes, one nearly as many as another: where the next but one begins can be
/// guessed while memory is asked for this one.
void fetch_ahead(std::span<const std::byte> bytes, std::size_t size) {
  constexpr std::size_t small = 1024, line = 64, records = 2;
  const std::size_t at = records * size;
  if (size < small || bytes.size() < at + line) return;
  __builtin_prefetch(bytes.data() + at);
  __builtin_prefetch(bytes.data() + at + line);
}

}  // namespace

/// Most of the time goes into waiting for memory, as one record's size leads to the next. So another thread begins at
/// what may be a record in the middle; if it was one, the first half ends there, and what follows is what would have
/// been found.
void RecordIndex::add(std::span<const std::byte> bytes, std::uint64_t offset) {
  // While a pipe's events are still to come, no other thread may ask for them.
  const auto middle = take_other_ ? std::nullopt : guess_record(bytes, endian_);
  if (!middle) return add_one_by_one(bytes, offset, true);
  Run second;
  Async others = async([this, &second, rest = bytes.subspan(*middle), from = offset + *middle] {
    second.size = put_plain(rest, from, true, second.records);
  });
  // A record that reaches over the middle is none of the first half.
  const std::uint64_t done = put_plain(bytes.first(*middle), offset, true, records_);
  if (done != *middle) return add_one_by_one(bytes.subspan(done), offset + done, true);
  others.get();
  records_.insert(records_.end(), second.records.begin(), second.records.end());
  add_one_by_one(bytes.subspan(done + second.size), offset + done + second.size, true);
}

void RecordIndex::sort_by_time() {
  // Each processor's records come in pieces, in order.
  boost::sort::spinsort(records_.begin(), records_.end(),
                        [](const Record& one, const Record& other) { return one.time < other.time; });
}

/// What only takes a place in the index.
bool RecordIndex::is_plain(std::uint32_t type, bool is_in_file) const {
  // A pipe says how an event's records look before the first of them.
  if (type < first_of_perf) return !layouts_.empty();
  if (!is_in_file) return true;
  return !take_other_ && type != compressed && type != auxiliary_trace && type != tracing_data;
}

/// As far as there are plain ones that are whole. How many bytes that is.
std::uint64_t RecordIndex::put_plain(std::span<const std::byte> bytes, std::uint64_t offset, bool is_in_file,
                                     std::vector<Record>& records) const {
  std::uint64_t done = 0;
  while (bytes.size() >= record_header_size) {
    const RecordHead head = read_head(bytes, endian_);
    if (head.size < record_header_size || head.size > bytes.size() || !is_plain(head.type, is_in_file)) break;
    fetch_ahead(bytes, head.size);
    const auto whole = bytes.first(head.size);
    bytes = bytes.subspan(head.size);
    Record record{.type = head.type,
                  .flags = head.flags,
                  .body = whole.subspan(record_header_size),
                  .offset = is_in_file ? offset + done : offset};
    done += head.size;
    if (head.type >= first_of_perf) continue;
    record.layout = layouts_.of(record);
    if (record.layout == nullptr) continue;
    record.time = layouts_.time_of(record);
    records.push_back(record);
  }
  return done;
}

/// `offset`: if they are not in the file, of the compressed record that they were in.
void RecordIndex::add_one_by_one(std::span<const std::byte> bytes, std::uint64_t offset, bool is_in_file) {
  for (;;) {
    const std::uint64_t plain = put_plain(bytes, offset, is_in_file, records_);
    bytes = bytes.subspan(plain);
    if (is_in_file) offset += plain;
    if (bytes.size() < record_header_size) break;
    const RecordHead head = read_head(bytes, endian_);
    if (head.size < record_header_size)
      throw MalformedInput({file_, "perf.data record"}, offset, "size is " + hex(head.size));
    if (head.size > bytes.size()) break;
    if (head.type < first_of_perf) throw MalformedInput({file_, "perf.data record"}, offset, "stands before any event");
    const auto whole = bytes.first(head.size);
    bytes = bytes.subspan(head.size);
    take_special(head.type, whole, offset);
    const std::uint64_t behind = size_behind(head.type, whole, endian_);
    if (behind > bytes.size()) {
      is_cut_ = true;
      return;
    }
    bytes = bytes.subspan(behind);
    offset += head.size + behind;
  }
  if (is_in_file) {
    is_cut_ = is_cut_ || !bytes.empty();
  } else {
    compressed_.leave_over(bytes);
  }
}

void RecordIndex::take_special(std::uint32_t type, std::span<const std::byte> whole, std::uint64_t offset) {
  if (type == compressed) {
    add_one_by_one(compressed_.add(whole.subspan(record_header_size), offset), offset, false);
  } else if (take_other_) {
    take_other_(type, whole);
  }
}

}  // namespace sframe_gen::trace
