#include "trace/perf/recording_file.hpp"

#include <boost/sort/spinsort/spinsort.hpp>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "sframe_gen/error.hpp"
#include "support/bytes.hpp"
#include "support/text.hpp"
#include "support/workers.hpp"

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

namespace {

using File = std::unique_ptr<std::FILE, int (*)(std::FILE*)>;

/// Ctrl-C at a terminal is for who writes into the pipe; what came until then is to be shown.
class Uninterrupted {
 public:
  Uninterrupted() {
    struct sigaction ignore {};
    ignore.sa_handler = SIG_IGN;
    ::sigaction(SIGINT, &ignore, &before_);
  }
  ~Uninterrupted() { ::sigaction(SIGINT, &before_, nullptr); }
  Uninterrupted(const Uninterrupted&) = delete;
  Uninterrupted& operator=(const Uninterrupted&) = delete;

 private:
  struct sigaction before_ {};
};

/// Samples come out by time, and those of one processor stand behind another's: all of it is needed. A file that has no
/// name takes less memory than the bytes would.
MappedFile kept(int from, const std::string& name) {
  const Uninterrupted reading;
  const File file(std::tmpfile(), std::fclose);
  if (!file) throw SystemFailure("a temporary file", "make", errno);
  std::vector<std::byte> bytes(std::size_t{1} << 20U);
  for (;;) {
    const ssize_t count = ::read(from, bytes.data(), bytes.size());
    if (count == 0) break;
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) throw SystemFailure(name, "read", errno);
    const auto size = static_cast<std::size_t>(count);
    if (std::fwrite(bytes.data(), 1, size, file.get()) != size) throw SystemFailure("a temporary file", "write", errno);
  }
  if (std::fflush(file.get()) != 0) throw SystemFailure("a temporary file", "write", errno);
  return {::fileno(file.get()), name};
}

bool is_pipe(int descriptor) {
  struct stat status {};
  return ::fstat(descriptor, &status) == 0 && (S_ISFIFO(status.st_mode) || S_ISSOCK(status.st_mode));
}

}  // namespace

MappedFile open_recording(const std::filesystem::path& path) {
  if (path == "-") {
    const std::string name = "standard input";
    return is_pipe(STDIN_FILENO) ? kept(STDIN_FILENO, name) : MappedFile(STDIN_FILENO, name);
  }
  if (!std::filesystem::is_fifo(path)) return MappedFile(path);
  const File pipe(std::fopen(path.c_str(), "re"), std::fclose);
  if (!pipe) throw SystemFailure(path.string(), "open", errno);
  return kept(::fileno(pipe.get()), path.string());
}

namespace {

constexpr std::uint64_t magic = 0x32454c4946524550;  // "PERFILE2", read by a little-endian host
constexpr std::uint64_t header_size = 104, pipe_header_size = 16;

// What perf adds to the kernel's types of records, where the recording is a pipe.
constexpr std::uint32_t event_of_pipe = 64, build_id_of_pipe = 67, feature_of_pipe = 80;

Endian endian_of(const MappedFile& file) {
  if (file.bytes().size() < pipe_header_size) throw Refused(file.name(), "is not a recording of perf's: too short");
  const auto found = load<std::uint64_t>(file.bytes(), Endian::Little);
  if (found == magic) return Endian::Little;
  if (found == swapped(magic)) return Endian::Big;
  throw Refused(file.name(), "is not a recording of perf's");
}

}  // namespace

RecordingFile::RecordingFile(const std::filesystem::path& path, sframe::Abi here)
    : file_(open_recording(path)),
      header_origin_{file_.name(), "perf.data header"},
      endian_(endian_of(file_)),
      is_pipe_(load<std::uint64_t>(file_.bytes().subspan(8), endian_) == pipe_header_size),
      layouts_(header_origin_, endian_),
      features_(header_origin_, endian_),
      index_(layouts_, name(), file_.bytes().size(), endian_,
             is_pipe_ ? [this](std::uint32_t type, std::span<const std::byte> whole) { take_from_pipe(type, whole); }
                      : RecordIndex::TakeOther()),
      abi_(here) {
  if (is_pipe_) {
    read_pipe();
  } else {
    read_file();
  }
  index_.sort_by_time();
}

std::span<const std::byte> RecordingFile::slice(Part part, const char* what) const {
  const auto bytes = file_.bytes();
  if (part.offset > bytes.size() || part.size > bytes.size() - part.offset) {
    throw MalformedInput(header_origin_, part.offset,
                         std::string(what) + " of " + hex(part.size) + " bytes reaches past the end of the file");
  }
  return bytes.subspan(part.offset, part.size);
}

sframe::Abi RecordingFile::recorded_abi() const {
  if (!features_.abi()) throw Refused(name(), "does not say what machine it was recorded on");
  return *features_.abi();
}

void RecordingFile::read_file() {
  const auto bytes = file_.bytes();
  ByteReader reader(bytes.first(std::min<std::size_t>(header_size, bytes.size())), endian_, header_origin_);
  reader.u64("magic number");
  reader.u64("size of the header");
  const std::uint64_t entry_size = reader.u64("size of an event");
  const auto part = [&](const char* what) { return Part{reader.u64(what), reader.u64(what)}; };
  const Part events = part("events");
  const Part data = part("data");
  part("event types");
  const auto features = reader.take(32, "features");
  read_events(events, entry_size);
  // perf fills the size in at its end. Killed, it leaves 0.
  const auto rest = bytes.size() - std::min<std::uint64_t>(data.offset, bytes.size());
  is_cut_ = data.size > rest || data.size == 0;
  if (!is_cut_) {
    read_features(data.offset + data.size, features);
    abi_ = recorded_abi();
  }
  index_.add(slice({data.offset, is_cut_ ? rest : data.size}, "data"), data.offset);
  is_cut_ |= index_.is_cut();
}

/// What a file has in its header and at its end, stands between the records of a pipe.
void RecordingFile::read_pipe() {
  index_.add(file_.bytes().subspan(pipe_header_size), pipe_header_size);
  is_cut_ = index_.is_cut();
  abi_ = recorded_abi();
}

void RecordingFile::take_from_pipe(std::uint32_t type, std::span<const std::byte> whole) {
  ByteReader reader(whole, endian_, header_origin_);
  if (type == build_id_of_pipe) {
    features_.add_build_ids(whole);
  } else if (type == feature_of_pipe) {
    reader.take(record_header_size, "record");
    const std::uint64_t feature = reader.u64("feature");
    features_.add(feature, reader.take(reader.left(), "feature"));
  } else if (type == event_of_pipe) {
    reader.take(record_header_size + 4, "event");
    const std::uint32_t size = reader.u32("size of an event");
    if (size < EventLayouts::smallest_event || size > whole.size() - record_header_size)
      reader.fail("size of an event is " + hex(size));
    layouts_.add(whole.subspan(record_header_size, size), whole.subspan(record_header_size + size));
  }
}

void RecordingFile::read_events(Part part, std::uint64_t entry_size) {
  constexpr std::uint64_t ids_size = 16;
  if (entry_size < EventLayouts::smallest_event + ids_size) {
    throw MalformedInput(header_origin_, 16, "size of an event is " + hex(entry_size));
  }
  auto bytes = slice(part, "table of events");
  for (; bytes.size() >= entry_size; bytes = bytes.subspan(entry_size)) {
    ByteReader ids(bytes.subspan(entry_size - ids_size, ids_size), endian_, header_origin_);
    const std::uint64_t offset = ids.u64("offset of IDs");
    layouts_.add(bytes.first(entry_size - ids_size), slice({offset, ids.u64("size of IDs")}, "list of IDs"));
  }
  if (layouts_.empty()) throw MalformedInput(header_origin_, part.offset, "has no event");
}

void RecordingFile::read_features(std::uint64_t offset, std::span<const std::byte> bits) {
  constexpr std::uint64_t entry = 16;
  for (std::size_t feature = 0; feature < bits.size() * 8; ++feature) {
    // Words of 64 bits, each in the recording machine's order.
    const auto word = load<std::uint64_t>(bits.subspan(feature / 64 * 8), endian_);
    if ((word >> feature % 64 & 1U) == 0) continue;
    ByteReader reader(slice({offset, entry}, "place of a feature"), endian_, header_origin_);
    offset += entry;
    const Part part{reader.u64("offset"), reader.u64("size")};
    if (Features::is_wanted(feature)) features_.add(feature, slice(part, "feature"));
  }
}

}  // namespace sframe_gen::trace
