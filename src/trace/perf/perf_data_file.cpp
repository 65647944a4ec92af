#include "trace/perf/perf_data_file.hpp"

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
#include "trace/perf/event_names.hpp"

namespace sframe_gen::trace::perf {

namespace {

/// Stacks are mostly zeros or the same from sample to sample, and compress well.
std::uint64_t most_decompressed(std::uint64_t file_size) {
  return (std::uint64_t{64} << 20U) + 256 * file_size;
}

// What perf adds to the kernel's types of records.
constexpr std::uint32_t first_of_perf = 64, tracing_data = 66, auxiliary_trace = 71, compressed = 81,
                        compressed_padded = 83;

struct RecordHead {
  std::uint32_t type;
  std::uint16_t flags;
  std::size_t size;  ///< with the head
};

/// Returns the head of the record that `bytes` begin with. They must hold all of it.
RecordHead read_head(std::span<const std::byte> bytes, Endian endian) {
  return {load<std::uint32_t>(bytes, endian), load<std::uint16_t>(bytes.subspan(4), endian),
          load<std::uint16_t>(bytes.subspan(6), endian)};
}

/// Two kinds are followed by bytes that their size does not count.
std::uint64_t size_after(std::uint32_t type, std::span<const std::byte> whole, Endian endian) {
  if (type == auxiliary_trace && whole.size() >= 16) return load<std::uint64_t>(whole.subspan(8), endian);
  if (type == tracing_data && whole.size() >= 12) return load<std::uint32_t>(whole.subspan(8), endian);
  return 0;
}

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

/// Samples come out by time, and those of one processor follow another's: all of it is needed. A file that has no
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

constexpr std::uint64_t pipe_header_size = 16;

// What perf adds to the kernel's types of records, where the recording is a pipe.
constexpr std::uint32_t event_of_pipe = 64, build_id_of_pipe = 67, feature_of_pipe = 80;

constexpr unsigned of_event_names = 12;  // HEADER_EVENT_DESC

Endian endian_of(const MappedFile& file) {
  if (file.bytes().size() < pipe_header_size) throw Refused(file.name(), "not a perf.data file: too short");
  const auto found = load<std::uint64_t>(file.bytes(), Endian::Little);
  if (found == file_magic) return Endian::Little;
  if (found == swapped(file_magic)) return Endian::Big;
  throw Refused(file.name(), "not a perf.data file");
}

}  // namespace

std::span<const std::byte> CompressedRecords::add(std::span<const std::byte> part, std::uint64_t offset) {
  if (!stream_)
    stream_ =
        std::shared_ptr<void>(ZSTD_createDStream(), [](void* s) { ZSTD_freeDStream(static_cast<ZSTD_DStream*>(s)); });
  auto* const stream = static_cast<ZSTD_DStream*>(stream_.get());
  if (room_.empty()) room_.resize(ZSTD_DStreamOutSize());
  const InputOrigin origin{file_, "compressed record"};
  std::vector<std::byte> made = std::exchange(left_over_, {});
  ZSTD_inBuffer in{part.data(), part.size(), 0};
  bool is_full = true;
  while (in.pos < in.size || is_full) {
    ZSTD_outBuffer out{room_.data(), room_.size(), 0};
    const std::size_t result = ZSTD_decompressStream(stream, &out, &in);
    if (ZSTD_isError(result) != 0) throw MalformedInput(origin, offset, ZSTD_getErrorName(result));
    is_full = out.pos == out.size;
    made.insert(made.end(), room_.begin(), room_.begin() + static_cast<std::ptrdiff_t>(out.pos));
    size_ += out.pos;
    if (size_ > most_decompressed(file_size_)) {
      throw MalformedInput(origin, offset, "more than 256 times the file's size is compressed in it");
    }
  }
  contents_.push_back(std::move(made));
  return contents_.back();
}

MappedFile map_recording(const std::filesystem::path& path) {
  if (path == "-") {
    const std::string name = "standard input";
    return is_pipe(STDIN_FILENO) ? kept(STDIN_FILENO, name) : MappedFile(STDIN_FILENO, name);
  }
  if (!std::filesystem::is_fifo(path)) return MappedFile(path);
  const File pipe(std::fopen(path.c_str(), "re"), std::fclose);
  if (!pipe) throw SystemFailure(path.string(), "open", errno);
  return kept(::fileno(pipe.get()), path.string());
}

PerfDataFile::PerfDataFile(MappedFile file, sframe::Abi here)
    : file_(std::move(file)),
      header_origin_{file_.name(), "perf.data header"},
      endian_(endian_of(file_)),
      is_pipe_(load<std::uint64_t>(file_.bytes().subspan(8), endian_) == pipe_header_size),
      layouts_(header_origin_, endian_),
      features_(header_origin_, endian_),
      compressed_(name(), file_.bytes().size()),
      abi_(here) {
  if (is_pipe_) {
    read_pipe();
  } else {
    read_file();
  }
  // Each processor's records come in pieces, in order.
  boost::sort::spinsort(records_.begin(), records_.end(),
                        [](const PerfRecord& one, const PerfRecord& other) { return one.time < other.time; });
}

std::span<const std::byte> PerfDataFile::slice(Part part, const char* what) const {
  const auto bytes = file_.bytes();
  if (part.offset > bytes.size() || part.size > bytes.size() - part.offset) {
    throw MalformedInput(
        header_origin_, part.offset,
        std::string(what) + " of " + count_of(part.size, "byte") + " reaches past the end of the file");
  }
  return bytes.subspan(part.offset, part.size);
}

sframe::Abi PerfDataFile::recorded_abi() const {
  if (!features_.abi()) throw Refused(name(), "no machine named");
  return *features_.abi();
}

void PerfDataFile::read_file() {
  const auto bytes = file_.bytes();
  ByteReader reader(bytes.first(std::min<std::size_t>(file_header_size, bytes.size())), endian_, header_origin_);
  reader.u64("magic number");
  reader.u64("size of the header");
  const std::uint64_t entry_size = reader.u64("size of an event");
  const auto part = [&](const char* what) { return Part{reader.u64(what), reader.u64(what)}; };
  const Part events = part("events");
  const Part data = part("data");
  part("event types");
  const auto features = reader.take(32, "features");
  read_events(events, entry_size);
  // perf fills the size in at its end. Killed, it leaves 0. A PerfDataWriter that was killed leaves no features.
  const auto rest = bytes.size() - std::min<std::uint64_t>(data.offset, bytes.size());
  const bool ends = data.size <= rest && data.size != 0;
  is_cut_ = !ends || std::ranges::all_of(features, [](std::byte byte) { return byte == std::byte{0}; });
  if (!is_cut_) {
    read_features(data.offset + data.size, features);
    abi_ = recorded_abi();
  }
  add_records(slice({data.offset, ends ? data.size : rest}, "data"), data.offset, true);
}

/// What a file has in its header and at its end, stands between the records of a pipe.
void PerfDataFile::read_pipe() {
  add_records(file_.bytes().subspan(pipe_header_size), pipe_header_size, true);
  abi_ = recorded_abi();
}

/// What a record of compressed ones has of them. perf of 6.15 and later gives their size, and pads them.
std::span<const std::byte> PerfDataFile::compressed_part(std::uint32_t type, std::span<const std::byte> whole) const {
  const InputOrigin origin{name(), "compressed record"};
  ByteReader reader(whole, endian_, origin);
  reader.take(record_header_size, "header");
  return reader.take(type == compressed_padded ? reader.u64("size") : reader.left(), "compressed records");
}

/// Adds the kernel's records. `offset`: if they are not in the file, of the compressed record that they were in.
void PerfDataFile::add_records(std::span<const std::byte> bytes, std::uint64_t offset, bool is_in_file) {
  while (bytes.size() >= record_header_size) {
    const RecordHead head = read_head(bytes, endian_);
    if (head.size < record_header_size)
      throw MalformedInput({name(), "perf.data record"}, offset, "size is " + hex(head.size));
    if (head.size > bytes.size()) break;
    const auto whole = bytes.first(head.size);
    bytes = bytes.subspan(head.size);
    std::uint64_t size_of_more = 0;
    if (head.type < first_of_perf) {
      add_record({.type = head.type, .flags = head.flags, .body = whole.subspan(record_header_size), .offset = offset});
    } else if (is_in_file) {
      if (head.type == compressed || head.type == compressed_padded) {
        add_records(compressed_.add(compressed_part(head.type, whole), offset), offset, false);
      } else if (is_pipe_) {
        take_from_pipe(head.type, whole);
      }
      size_of_more = size_after(head.type, whole, endian_);
    }
    if (size_of_more > bytes.size()) {
      is_cut_ = true;
      return;
    }
    bytes = bytes.subspan(size_of_more);
    if (is_in_file) offset += head.size + size_of_more;
  }
  if (is_in_file) {
    is_cut_ = is_cut_ || !bytes.empty();
  } else {
    compressed_.leave_over(bytes);
  }
}

void PerfDataFile::add_record(PerfRecord record) {
  // In a pipe, an event's description comes before its first record.
  if (layouts_.empty()) throw MalformedInput({name(), "perf.data record"}, record.offset, "is before the first event");
  record.layout = layouts_.of(record);
  if (record.layout == nullptr) return;
  record.time = layouts_.time_of(record);
  records_.push_back(record);
}

void PerfDataFile::take_from_pipe(std::uint32_t type, std::span<const std::byte> whole) {
  ByteReader reader(whole, endian_, header_origin_);
  if (type == build_id_of_pipe) {
    features_.add_build_ids(whole);
  } else if (type == feature_of_pipe) {
    reader.take(record_header_size, "record");
    const std::uint64_t feature = reader.u64("feature");
    const auto content = reader.take(reader.left(), "feature");
    features_.add(feature, content);
    if (feature == of_event_names) event_names_ = recorded_event_names(content, endian_);
  } else if (type == event_of_pipe) {
    reader.take(record_header_size + 4, "event");
    const std::uint32_t size = reader.u32("size of an event");
    if (size < EventLayouts::smallest_event || size > whole.size() - record_header_size)
      reader.fail("size of an event is " + hex(size));
    layouts_.add(whole.subspan(record_header_size, size), whole.subspan(record_header_size + size));
  }
}

void PerfDataFile::read_events(Part part, std::uint64_t entry_size) {
  constexpr std::uint64_t ids_size = 16;
  if (entry_size < EventLayouts::smallest_event + ids_size) {
    throw MalformedInput(header_origin_, 16, "size of an event is " + hex(entry_size));
  }
  auto bytes = slice(part, "table of events");
  std::uint64_t left = file_.bytes().size();
  for (; bytes.size() >= entry_size; bytes = bytes.subspan(entry_size)) {
    ByteReader places(bytes.subspan(entry_size - ids_size, ids_size), endian_, header_origin_);
    const std::uint64_t offset = places.u64("offset of IDs");
    const auto ids = slice({offset, places.u64("size of IDs")}, "list of IDs");
    if (ids.size() > left) throw MalformedInput(header_origin_, offset, "lists of IDs share bytes");
    left -= ids.size();
    layouts_.add(bytes.first(entry_size - ids_size), ids);
    events_.push_back({bytes.first(entry_size - ids_size), ids});
  }
  if (layouts_.empty()) throw MalformedInput(header_origin_, part.offset, "no event");
}

void PerfDataFile::read_features(std::uint64_t offset, std::span<const std::byte> bits) {
  constexpr std::uint64_t entry = 16;
  for (std::size_t feature = 0; feature < bits.size() * 8; ++feature) {
    // Words of 64 bits, each in the recording machine's order.
    const auto word = load<std::uint64_t>(bits.subspan(feature / 64 * 8), endian_);
    if ((word >> feature % 64 & 1U) == 0) continue;
    ByteReader reader(slice({offset, entry}, "place of a feature"), endian_, header_origin_);
    offset += entry;
    const Part part{reader.u64("offset"), reader.u64("size")};
    if (Features::is_wanted(feature)) features_.add(feature, slice(part, "feature"));
    // Others are perf's own matter; where they are wrong, they are none.
    const auto all = file_.bytes();
    if (part.offset <= all.size() && part.size <= all.size() - part.offset)
      all_features_.emplace(static_cast<unsigned>(feature), all.subspan(part.offset, part.size));
  }
  if (const auto names = all_features_.find(of_event_names); names != all_features_.end())
    event_names_ = recorded_event_names(names->second, endian_);
}

std::vector<std::string> PerfDataFile::event_names() const {
  std::vector<std::string> names;
  for (const EventLayout& layout : layouts_.all()) {
    const bool has_name = event_names_.size() == layouts_.all().size() && !event_names_[names.size()].empty();
    names.push_back(has_name ? event_names_[names.size()] : event_name(layout.type, layout.config));
  }
  return names;
}

}  // namespace sframe_gen::trace::perf
