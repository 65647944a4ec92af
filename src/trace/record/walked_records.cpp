#include "trace/record/walked_records.hpp"

#include <linux/perf_event.h>

#include <algorithm>
#include <bit>
#include <utility>

#include "command_line/options.hpp"
#include "support/bytes.hpp"
#include "trace/record/event_files.hpp"
#include "trace/recorded/call_chain_file.hpp"
#include "trace/walk/kernel_registers.hpp"

namespace sframe_gen::trace::record {

namespace {

constexpr std::size_t word_bytes = 8;
/// Of a sample: number of its event, PC, thread, time, processor and period. Its call chain follows.
constexpr std::size_t size_before_chain = 6 * word_bytes;

const InputOrigin& record_origin() {
  static const InputOrigin origin{"perf_event_open", "record"};
  return origin;
}

recorded::RecordSource source_of_records() {
  recorded::RecordSource source{.name = record_origin().file, .abi = walk::host_abi()};
  const auto limit = command_line::number_of<std::uint64_t>(setting_of("/proc/sys/kernel/perf_event_max_stack"), 10);
  if (limit) source.longest_chain = *limit;
  return source;
}

void put_head(ByteWriter& record, std::uint32_t type, std::uint16_t flags, std::size_t body_size) {
  record.u32(type);
  record.u16(flags);
  record.u16(static_cast<std::uint16_t>(perf::record_header_size + body_size));
}

}  // namespace

perf::PerfRecord read_record(std::span<const std::byte> bytes, const perf::EventLayouts& layouts) {
  perf::PerfRecord record{.type = load<std::uint32_t>(bytes, host_endian),
                          .flags = load<std::uint16_t>(bytes.subspan(4), host_endian),
                          .body = bytes.subspan(perf::record_header_size)};
  record.layout = layouts.of(record);
  if (record.layout != nullptr) record.time = layouts.time_of(record);
  return record;
}

std::vector<std::byte> without_room(const perf::PerfRecord& record, std::span<const std::byte> bytes) {
  const auto whole = [bytes] { return std::vector(bytes.begin(), bytes.end()); };
  if (record.type != perf::record_type::sample) return whole();
  ByteReader reader(record.body, host_endian, record_origin());
  reader.take(size_before_chain, "sample");
  const std::uint64_t frames = reader.u64("length");
  if (frames > reader.left() / word_bytes) reader.fail("call chain: more than there is room for");
  reader.take(frames * word_bytes, "call chain");
  if ((record.layout->sample_type & perf::sample_bit::raw) != 0)
    reader.take(reader.u32("size of raw data"), "raw data");
  const auto registers = static_cast<std::size_t>(std::popcount(record.layout->user_registers));
  if (reader.u64("kind of registers") != 0) reader.take(registers * word_bytes, "registers");
  const std::uint64_t place = reader.offset();
  const std::uint64_t room = reader.u64("size of the stack");
  if (room == 0) return whole();
  reader.take(room, "stack");
  const std::uint64_t used = std::min<std::uint64_t>(reader.u64("size of the stack"), room);
  const std::uint64_t kept = (used + word_bytes - 1) / word_bytes * word_bytes;
  if (kept == 0 || kept >= room) return whole();
  // Most of a sample is room that its stack has not used: what is kept is copied once.
  constexpr std::size_t size_place = 6;
  const std::size_t stack_place = perf::record_header_size + place + word_bytes;
  std::vector<std::byte> smaller;
  smaller.reserve(stack_place + kept + word_bytes);
  smaller.assign(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(stack_place + kept));
  smaller.resize(stack_place + kept + word_bytes);
  const std::span words(smaller);
  store(words.subspan(size_place), static_cast<std::uint16_t>(smaller.size()), host_endian);
  store(words.subspan(stack_place - word_bytes), kept, host_endian);
  store(words.last(word_bytes), used, host_endian);
  return smaller;
}

WalkedRecords::WalkedRecords(const perf::EventLayouts& layouts, ProgramFiles& files, std::size_t most_frames,
                             walk::FramePointers frame_pointers, RecordSinks sinks)
    : layouts_(layouts),
      files_(files),
      sinks_(std::move(sinks)),
      programs_(source_of_records(), [&files](const walk::Mapping& mapping) { return files.open(mapping); }),
      walker_(most_frames, false, frame_pointers) {}

void WalkedRecords::write(std::span<const std::byte> record) {
  if (sinks_.file != nullptr) sinks_.file->append(record);
  if (sinks_.raw != nullptr) sinks_.raw->append(record);
}

void WalkedRecords::take(const TakenRecord& taken) {
  perf::PerfRecord record = read_record(taken.bytes, layouts_);
  if (record.type == PERF_RECORD_LOST && record.body.size() >= 2 * word_bytes)
    lost_ += load<std::uint64_t>(record.body.subspan(word_bytes), host_endian);
  if (record.type != perf::record_type::sample) {
    programs_.take(record, walker_, {});
    std::vector<std::byte> bytes = taken.bytes;
    if (record.type == perf::record_type::map2 && !sinks_.is_read_here) add_build_id(record, bytes);
    return write(bytes);
  }
  if (samples_++ == 0) first_ns_ = record.time;
  last_ns_ = std::max(last_ns_, record.time);
  programs_.take(record, walker_, [&](const recorded::Sample& sample) {
    if (sinks_.file != nullptr)
      sinks_.file->append(recorded::call_chain_record(record, sample, host_endian, sinks_.is_read_here).bytes);
    if (sinks_.raw != nullptr) sinks_.raw->append(taken.bytes);
    if (sinks_.sample) sinks_.sample(sample);
  });
}

/// The kernel names the file by its numbers, in place of which it could have written the build-id. But then it would
/// say which file it is only by what a program can write into its own files.
void WalkedRecords::add_build_id(const perf::PerfRecord& record, std::vector<std::byte>& bytes) {
  constexpr std::size_t identity_place = perf::record_header_size + 4 * word_bytes, identity_size = 24, most = 20;
  const recorded::MappingWords words = recorded::read_mapping(record, host_endian, record_origin());
  if (!words.is_code || (record.flags & PERF_RECORD_MISC_CPUMODE_MASK) != PERF_RECORD_MISC_USER) return;
  const auto id = files_.build_id(words.mapping);
  if (id.empty() || id.size() > most) return;
  const std::span identity = std::span(bytes).subspan(identity_place, identity_size);
  std::ranges::fill(identity, std::byte{0});
  identity[0] = static_cast<std::byte>(id.size());
  std::ranges::copy(id, identity.begin() + 4);
  store(std::span(bytes).subspan(4), static_cast<std::uint16_t>(record.flags | PERF_RECORD_MISC_MMAP_BUILD_ID),
        host_endian);
}

void WalkedRecords::finish(std::uint64_t lost_in_all) {
  if (lost_in_all <= lost_) return;
  // No record came after the last samples that were lost, which would have told of them.
  ByteWriter record(host_endian);
  constexpr std::size_t trailer = 4;
  put_head(record, PERF_RECORD_LOST, 0, (2 + trailer) * word_bytes);
  record.u64(0);
  record.u64(lost_in_all - lost_);
  for (std::size_t i = 0; i < trailer; ++i) record.u64(0);
  lost_ = lost_in_all;
  write(record.bytes());
}

}  // namespace sframe_gen::trace::record
