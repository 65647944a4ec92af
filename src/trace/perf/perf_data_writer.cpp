#include "trace/perf/perf_data_writer.hpp"

#include <unistd.h>

#include <array>
#include <cassert>
#include <cerrno>
#include <utility>

#include "sframe_gen/error.hpp"
#include "trace/perf/record.hpp"

namespace sframe_gen::trace::perf {

namespace {

constexpr std::uint64_t place_size = 16;
constexpr std::size_t feature_words = 4;
constexpr std::size_t most_waiting = std::size_t{4} << 20U;

/// Of records, the last of which may be cut.
std::size_t size_of_whole_records(std::span<const std::byte> records, Endian endian) {
  std::size_t end = 0;
  while (records.size() - end >= record_header_size) {
    const auto size = load<std::uint16_t>(records.subspan(end + 6), endian);
    if (size > records.size() - end) break;
    end += size;
  }
  return end;
}

}  // namespace

PerfDataWriter::PerfDataWriter(int file, std::string name, Endian endian, const std::vector<WrittenEvent>& events)
    : file_(file), name_(std::move(name)), endian_(endian), waiting_(endian) {
  assert(!events.empty());
  event_size_ = events.front().attributes.size() + place_size;
  ByteWriter ids(endian), entries(endian);
  for (const WrittenEvent& event : events) {
    assert(event.attributes.size() + place_size == event_size_);
    entries.append_bytes(event.attributes);
    entries.u64(file_header_size + ids.size());
    entries.u64(event.ids.size() * sizeof(std::uint64_t));
    for (const std::uint64_t id : event.ids) ids.u64(id);
  }
  events_ = file_header_size + ids.size();
  events_end_ = data_begin_ = data_end_ = events_ + entries.size();
  write_at(file_header_size, ids.bytes());
  write_at(events_, entries.bytes());
  update();
}

void PerfDataWriter::set_feature(unsigned feature, std::vector<std::byte> content) {
  assert(feature < feature_words * 64);
  features_.insert_or_assign(feature, std::move(content));
}

void PerfDataWriter::append(std::span<const std::byte> record) {
  waiting_.append_bytes(record);
  if (waiting_.size() >= most_waiting) update();
}

void PerfDataWriter::update() {
  // Features follow the records, so that new records take their place. A header without features is true until then.
  write_header(data_end_, false);
  const auto records = waiting_.bytes();
  if (const std::size_t written = write_some(data_end_, records); written != records.size()) {
    const int error = errno;
    write_header(data_end_ + size_of_whole_records(records.first(written), endian_), false);
    throw SystemFailure(name_, "write", error);
  }
  data_end_ += waiting_.size();
  waiting_.clear();
  write_header(data_end_, false);
  ByteWriter places(endian_), contents(endian_);
  const std::uint64_t begin = data_end_ + features_.size() * place_size;
  for (const auto& [feature, content] : features_) {
    places.u64(begin + contents.size());
    places.u64(content.size());
    contents.append_bytes(content);
  }
  places.append_bytes(contents.bytes());
  write_at(data_end_, places.bytes());
  size_ = data_end_ + places.size();
  if (!features_.empty()) write_header(data_end_, true);
}

void PerfDataWriter::write_header(std::uint64_t data_end, bool has_features) {
  ByteWriter header(endian_);
  header.u64(file_magic);
  header.u64(file_header_size);
  header.u64(event_size_);
  header.u64(events_);
  header.u64(events_end_ - events_);
  header.u64(data_begin_);
  header.u64(data_end - data_begin_);
  header.u64(0);  // Event types: perf has not written any since Linux 3.11.
  header.u64(0);
  std::array<std::uint64_t, feature_words> bits{};
  for (const auto& [feature, content] : features_)
    if (has_features) bits.at(feature / 64) |= std::uint64_t{1} << feature % 64;
  for (const std::uint64_t word : bits) header.u64(word);
  write_at(0, header.bytes());
}

void PerfDataWriter::write_at(std::uint64_t offset, std::span<const std::byte> bytes) {
  if (write_some(offset, bytes) != bytes.size()) throw SystemFailure(name_, "write", errno);
}

/// Returns how many bytes were written; if not all, errno says why.
std::size_t PerfDataWriter::write_some(std::uint64_t offset, std::span<const std::byte> bytes) {
  std::size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t count = ::pwrite(file_, bytes.data() + done, bytes.size() - done, static_cast<off_t>(offset + done));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) break;
    done += static_cast<std::size_t>(count);
  }
  return done;
}

std::vector<std::byte> text_feature(std::string_view text, Endian endian) {
  constexpr std::size_t step = 64;  // perf's NAME_ALIGN
  const std::size_t size = (text.size() + 1 + step - 1) / step * step;
  ByteWriter feature(endian);
  feature.u32(static_cast<std::uint32_t>(size));
  feature.append_bytes(std::as_bytes(std::span(text)));
  for (std::size_t i = text.size(); i < size; ++i) feature.u8(0);
  return feature.release();
}

}  // namespace sframe_gen::trace::perf
