#include "trace/perf/recording_file.hpp"

#include <boost/sort/spinsort/spinsort.hpp>
#include <zstd.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "elf/build_id.hpp"
#include "elf/constants.hpp"
#include "support/background.hpp"
#include "support/byte_reader.hpp"
#include "support/text.hpp"
#include "trace/perf/record_guess.hpp"
#include "trace/perf/recording_stream.hpp"

namespace sframe_gen::trace {

namespace {

constexpr std::uint64_t magic = 0x32454c4946524550;  // "PERFILE2", read by a little-endian host
constexpr std::uint64_t header_size = 104, pipe_header_size = 16;
constexpr std::size_t record_header = 8;

// What perf adds to the kernel's types of records.
constexpr std::uint32_t first_of_perf = 64, event_of_pipe = 64, tracing_data = 66, build_id_of_pipe = 67,
                        auxiliary_trace = 71, feature_of_pipe = 80, compressed = 81;

// HEADER_* of perf's util/header.h.
constexpr std::size_t build_id_feature = 2, machine_feature = 6;

constexpr std::uint64_t oldest_event = 64;

constexpr std::uint64_t id_bits = sample_bit::thread | sample_bit::time | sample_bit::id | sample_bit::stream_id |
                                  sample_bit::processor | sample_bit::identifier;

/// What compressed records may come to: stacks are mostly zeros or the same from sample to sample, and compress well.
std::uint64_t most_decompressed(std::uint64_t file_size) {
  return (std::uint64_t{64} << 20U) + 256 * file_size;
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

RecordingFile::RecordingFile(const std::filesystem::path& path, sframe::Abi here)
    : file_(open_recording(path)), header_origin_{file_.name(), "perf.data header"}, abi_(here) {
  read_header();
  // Each processor's records come in pieces, in order.
  boost::sort::spinsort(records_.begin(), records_.end(),
                        [](const Record& one, const Record& other) { return one.time < other.time; });
}

std::span<const std::byte> RecordingFile::slice(Part part, const char* what) const {
  const auto bytes = file_.bytes();
  if (part.offset > bytes.size() || part.size > bytes.size() - part.offset) {
    throw MalformedInput(header_origin_, part.offset,
                         std::string(what) + " of " + hex(part.size) + " bytes reaches past the end of the file");
  }
  return bytes.subspan(part.offset, part.size);
}

void RecordingFile::read_header() {
  const auto bytes = file_.bytes();
  if (bytes.size() < pipe_header_size) throw Refused(name(), "is not a recording of perf's: too short");
  const auto found = load<std::uint64_t>(bytes, Endian::Little);
  if (found != magic && found != swapped(magic)) throw Refused(name(), "is not a recording of perf's");
  endian_ = found == magic ? Endian::Little : Endian::Big;
  ByteReader reader(bytes.first(std::min<std::size_t>(header_size, bytes.size())), endian_, header_origin_);
  reader.u64("magic number");
  if (reader.u64("size of the header") == pipe_header_size) return read_pipe();
  const std::uint64_t entry_size = reader.u64("size of an event");
  const auto part = [&](const char* what) { return Part{reader.u64(what), reader.u64(what)}; };
  const Part events = part("events");
  const Part data = part("data");
  part("event types");
  const auto features = reader.take(32, "features");
  read_layouts(events, entry_size);
  // perf fills the size in at its end. Killed, it leaves 0.
  const auto rest = bytes.size() - std::min<std::uint64_t>(data.offset, bytes.size());
  is_cut_ = data.size > rest || data.size == 0;
  if (!is_cut_) {
    read_features(data.offset + data.size, features);
    if (!has_machine_) throw Refused(name(), "does not say what machine it was recorded on");
  }
  index_in_halves(slice({data.offset, is_cut_ ? rest : data.size}, "data"), data.offset);
}

/// What a file has in its header and at its end, stands between the records of a pipe.
void RecordingFile::read_pipe() {
  is_pipe_ = true;
  index(file_.bytes().subspan(pipe_header_size), pipe_header_size, true);
  if (!has_machine_) throw Refused(name(), "does not say what machine it was recorded on");
}

void RecordingFile::take_from_pipe(std::uint32_t type, std::span<const std::byte> whole) {
  ByteReader reader(whole, endian_, header_origin_);
  if (type == build_id_of_pipe) {
    read_build_ids(whole);
  } else if (type == feature_of_pipe) {
    reader.take(record_header, "record");
    const std::uint64_t feature = reader.u64("feature");
    read_feature(feature, reader.take(reader.left(), "feature"));
  } else if (type == event_of_pipe) {
    reader.take(record_header + 4, "event");
    const std::uint32_t size = reader.u32("size of an event");
    if (size < oldest_event || size > whole.size() - record_header) reader.fail("size of an event is " + hex(size));
    add_layout(whole.subspan(record_header, size), whole.subspan(record_header + size));
  }
}

EventLayout RecordingFile::read_layout(std::span<const std::byte> bytes) const {
  // struct perf_event_attr: type, size, config, period, sample_type, read_format, flags, ...
  ByteReader reader(bytes, endian_, header_origin_);
  EventLayout layout;
  reader.take(24, "event");
  layout.sample_type = reader.u64("sample type");
  layout.read_format = reader.u64("read format");
  // Bit fields count from the other end on a big-endian machine.
  constexpr unsigned sample_id_all = 18;
  const std::uint64_t flags = reader.u64("flags");
  layout.all_have_id = (flags >> (endian_ == Endian::Little ? sample_id_all : 63 - sample_id_all) & 1U) != 0;
  reader.take(24, "event");
  if (reader.left() >= 8) layout.branch_type = reader.u64("branch type");
  if (reader.left() >= 8) layout.user_registers = reader.u64("user registers");
  return layout;
}

void RecordingFile::read_layouts(Part part, std::uint64_t entry_size) {
  constexpr std::uint64_t ids_size = 16;
  if (entry_size < oldest_event + ids_size) {
    throw MalformedInput(header_origin_, 16, "size of an event is " + hex(entry_size));
  }
  auto bytes = slice(part, "table of events");
  for (; bytes.size() >= entry_size; bytes = bytes.subspan(entry_size)) {
    ByteReader ids(bytes.subspan(entry_size - ids_size, ids_size), endian_, header_origin_);
    const std::uint64_t offset = ids.u64("offset of IDs");
    add_layout(bytes.first(entry_size - ids_size), slice({offset, ids.u64("size of IDs")}, "list of IDs"));
  }
  if (layouts_.empty()) throw MalformedInput(header_origin_, part.offset, "has no event");
}

void RecordingFile::add_layout(std::span<const std::byte> event, std::span<const std::byte> ids) {
  layouts_.push_back(read_layout(event));
  for (ByteReader reader(ids, endian_, header_origin_); reader.left() >= 8;) {
    layout_by_id_[reader.u64("ID")] = layouts_.size() - 1;
  }
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
    if (feature == machine_feature || feature == build_id_feature) read_feature(feature, slice(part, "feature"));
  }
}

void RecordingFile::read_feature(std::uint64_t feature, std::span<const std::byte> bytes) {
  if (feature == machine_feature) read_machine(bytes);
  if (feature == build_id_feature) read_build_ids(bytes);
}

void RecordingFile::read_machine(std::span<const std::byte> bytes) {
  ByteReader reader(bytes, endian_, header_origin_);
  const auto text = reader.take(reader.u32("length"), "machine");
  const auto* const begin = reinterpret_cast<const char*>(text.data());
  const std::string machine(begin, ::strnlen(begin, text.size()));
  has_machine_ = true;
  if (machine == "x86_64" && endian_ == Endian::Little) {
    abi_ = sframe::Abi::Amd64;
  } else if (machine == "aarch64" || machine == "aarch64_be") {
    abi_ = endian_ == Endian::Little ? sframe::Abi::Aarch64Little : sframe::Abi::Aarch64Big;
  } else if (machine == "s390x" && endian_ == Endian::Big) {
    abi_ = sframe::Abi::S390x;
  } else {
    throw Refused(name(), "was recorded on " + printable(machine) +
                              (endian_ == Endian::Little ? " (little-endian)" : " (big-endian)") +
                              ", for which SFrame has no ABI");
  }
}

void RecordingFile::read_build_ids(std::span<const std::byte> bytes) {
  // Records of a header, a process, 20 bytes of ID with their number in the 21st, and a path.
  constexpr std::size_t id_room = 24, usual_id = 20;
  ByteReader reader(bytes, endian_, header_origin_);
  while (reader.left() >= 8 + 4 + id_room) {
    reader.u32("type");
    const std::uint16_t flags = reader.u16("flags");
    const std::uint16_t size = reader.u16("size");
    if (size < 8) reader.fail("size of a build-id's record is " + hex(size));
    const auto record = reader.take(size - 8U, "build-id");
    if (record.size() < 4 + id_room) continue;
    const auto id = record.subspan(4, id_room);
    constexpr std::uint16_t has_size = 1U << 15U;
    const std::size_t id_size = (flags & has_size) != 0
                                    ? std::min<std::size_t>(std::to_integer<std::size_t>(id[usual_id]), usual_id)
                                    : usual_id;
    const auto path = record.subspan(4 + id_room);
    const auto* const begin = reinterpret_cast<const char*>(path.data());
    build_ids_[std::string(begin, ::strnlen(begin, path.size()))] = elf::hex_digits(id.first(id_size));
  }
}

/// Most of the time goes into waiting for memory, as one record's size leads to the next. So another thread begins at
/// what may be a record in the middle; if it was one, the first half ends there, and what follows is what would have
/// been found.
void RecordingFile::index_in_halves(std::span<const std::byte> bytes, std::uint64_t offset) {
  const auto middle = guess_record(bytes, endian_);
  if (!middle) return index(bytes, offset, true);
  auto others = in_background([this, rest = bytes.subspan(*middle), from = offset + *middle] {
    Run run;
    run.size = put_plain(rest, from, true, run.records);
    return run;
  });
  // A record that reaches over the middle is none of the first half.
  const std::uint64_t done = put_plain(bytes.first(*middle), offset, true, records_);
  if (done != *middle) return index(bytes.subspan(done), offset + done, true);
  const Run second = others.get();
  records_.insert(records_.end(), second.records.begin(), second.records.end());
  index(bytes.subspan(done + second.size), offset + done + second.size, true);
}

/// What only takes a place in the index.
bool RecordingFile::is_plain(std::uint32_t type, bool is_in_file) const {
  // A pipe says how an event's records look before the first of them.
  if (type < first_of_perf) return !layouts_.empty();
  if (!is_in_file) return true;
  return !is_pipe_ && type != compressed && type != auxiliary_trace && type != tracing_data;
}

/// As far as there are plain ones that are whole. How many bytes that is.
std::uint64_t RecordingFile::put_plain(std::span<const std::byte> bytes, std::uint64_t offset, bool is_in_file,
                                       std::vector<Record>& records) const {
  std::uint64_t done = 0;
  while (bytes.size() >= record_header) {
    const auto type = load<std::uint32_t>(bytes, endian_);
    const std::size_t size = load<std::uint16_t>(bytes.subspan(6), endian_);
    if (size < record_header || size > bytes.size() || !is_plain(type, is_in_file)) break;
    fetch_ahead(bytes, size);
    const auto whole = bytes.first(size);
    bytes = bytes.subspan(size);
    Record record{.type = type,
                  .flags = load<std::uint16_t>(whole.subspan(4), endian_),
                  .body = whole.subspan(record_header),
                  .offset = is_in_file ? offset + done : offset};
    done += size;
    if (type >= first_of_perf) continue;
    record.layout = layout_of(record);
    if (record.layout == nullptr) continue;
    record.time = time_of(record);
    records.push_back(record);
  }
  return done;
}

void RecordingFile::index(std::span<const std::byte> bytes, std::uint64_t offset, bool is_in_file) {
  for (;;) {
    const std::uint64_t plain = put_plain(bytes, offset, is_in_file, records_);
    bytes = bytes.subspan(plain);
    if (is_in_file) offset += plain;
    if (bytes.size() < record_header) break;
    const auto type = load<std::uint32_t>(bytes, endian_);
    const std::size_t size = load<std::uint16_t>(bytes.subspan(6), endian_);
    if (size < record_header) throw MalformedInput({name(), "perf.data record"}, offset, "size is " + hex(size));
    if (size > bytes.size()) break;
    const auto whole = bytes.first(size);
    bytes = bytes.subspan(size);
    // Two kinds are followed by bytes that their size does not count.
    std::uint64_t behind = 0;
    if (type < first_of_perf) throw MalformedInput({name(), "perf.data record"}, offset, "stands before any event");
    if (type == auxiliary_trace && size >= 16) behind = load<std::uint64_t>(whole.subspan(8), endian_);
    if (type == tracing_data && size >= 12) behind = load<std::uint32_t>(whole.subspan(8), endian_);
    if (type == compressed) {
      decompress(whole.subspan(record_header), offset);
    } else if (is_pipe_) {
      take_from_pipe(type, whole);
    }
    if (behind > bytes.size()) {
      is_cut_ = true;
      return;
    }
    bytes = bytes.subspan(behind);
    offset += size + behind;
  }
  if (is_in_file) {
    is_cut_ = is_cut_ || !bytes.empty();
  } else {
    left_over_.assign(bytes.begin(), bytes.end());
  }
}

void RecordingFile::decompress(std::span<const std::byte> bytes, std::uint64_t offset) {
  if (!stream_)
    stream_ =
        std::shared_ptr<void>(ZSTD_createDStream(), [](void* s) { ZSTD_freeDStream(static_cast<ZSTD_DStream*>(s)); });
  auto* const stream = static_cast<ZSTD_DStream*>(stream_.get());
  const Origin origin{name(), "compressed record"};
  std::vector<std::byte> made = std::move(left_over_);
  left_over_.clear();
  ZSTD_inBuffer in{bytes.data(), bytes.size(), 0};
  bool is_full = true;
  while (in.pos < in.size || is_full) {
    const std::size_t before = made.size();
    made.resize(before + ZSTD_DStreamOutSize());
    ZSTD_outBuffer out{made.data() + before, made.size() - before, 0};
    const std::size_t result = ZSTD_decompressStream(stream, &out, &in);
    if (ZSTD_isError(result) != 0) throw MalformedInput(origin, offset, ZSTD_getErrorName(result));
    is_full = out.pos == out.size;
    made.resize(before + out.pos);
    decompressed_size_ += out.pos;
    if (decompressed_size_ > most_decompressed(file_.bytes().size())) {
      throw MalformedInput(origin, offset, "more than 256 times the file's size is compressed in it");
    }
  }
  decompressed_.push_back(std::move(made));
  index(decompressed_.back(), offset, false);
}

const EventLayout* RecordingFile::layout_of(const Record& record) const {
  const EventLayout& first = layouts_.front();
  if (layouts_.size() == 1 || (first.sample_type & sample_bit::identifier) == 0) return &first;
  // All events that are recorded together have their ID at the same place: the first word of a sample, the last of
  // others.
  constexpr std::size_t word = 8;
  if (record.body.size() < word) return nullptr;
  if (record.type != record_type::sample && !first.all_have_id) return &first;
  const std::size_t place = record.type == record_type::sample ? 0 : record.body.size() - word;
  const auto found = layout_by_id_.find(load<std::uint64_t>(record.body.subspan(place), endian_));
  if (found != layout_by_id_.end()) return &layouts_[found->second];
  // What perf itself wrote of the time before has 0 there.
  return record.type == record_type::sample ? nullptr : &first;
}

std::uint64_t RecordingFile::time_of(const Record& record) const {
  const std::uint64_t type = record.layout->sample_type;
  if ((type & sample_bit::time) == 0) return 0;
  constexpr std::size_t word = 8;
  const auto words_of = [&](std::uint64_t bits) { return static_cast<std::size_t>(std::popcount(type & bits)) * word; };
  std::size_t place = 0;
  if (record.type == record_type::sample) {
    place = words_of(sample_bit::identifier | sample_bit::ip | sample_bit::thread);
  } else {
    const std::size_t id_size = words_of(id_bits);
    if (!record.layout->all_have_id || record.body.size() < id_size) return 0;
    place = record.body.size() - id_size + words_of(sample_bit::thread);
  }
  if (record.body.size() < place + word) return 0;
  return load<std::uint64_t>(record.body.subspan(place), endian_);
}

}  // namespace sframe_gen::trace
