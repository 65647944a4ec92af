#include "trace/recorded/call_chain_file.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <iterator>
#include <string>

#include "sframe_gen/error.hpp"
#include "support/bytes.hpp"
#include "support/endian.hpp"
#include "trace/files/output_file.hpp"

namespace sframe_gen::trace::recorded {

namespace {

constexpr std::size_t entry_size = 8;
constexpr std::uint64_t replaced = perf::sample_bit::user_registers | perf::sample_bit::user_stack;

// HEADER_* of perf's util/header.h. Left out is what leads to other places of the file, or says how it is compressed.
constexpr unsigned machine_feature = 6, events_feature = 12;
constexpr unsigned left_out[]{18, 24, 27};  // AUXTRACE, DIR_FORMAT, COMPRESSED

/// Makes the description of an event, struct perf_event_attr, that of one without registers and stack.
void describe_call_chains(std::span<std::byte> attributes, Endian endian) {
  constexpr std::size_t type_at = 24, flags_at = 40, registers_at = 80, stack_size_at = 88, end = 92;
  constexpr unsigned exclude_callchain_user = 22;
  if (attributes.size() < flags_at + entry_size) return;
  const auto type = load<std::uint64_t>(attributes.subspan(type_at), endian);
  if ((type & replaced) == 0) return;
  store(attributes.subspan(type_at), (type & ~replaced) | perf::sample_bit::call_chain, endian);
  const auto flags = load<std::uint64_t>(attributes.subspan(flags_at), endian);
  const unsigned bit = endian == Endian::Little ? exclude_callchain_user : 63 - exclude_callchain_user;
  store(attributes.subspan(flags_at), flags | std::uint64_t{1} << bit, endian);
  if (attributes.size() < end) return;
  store(attributes.subspan(registers_at), std::uint64_t{0}, endian);
  store(attributes.subspan(stack_size_at), std::uint32_t{0}, endian);
}

std::vector<std::byte> described(std::span<const std::byte> attributes, Endian endian) {
  std::vector<std::byte> changed(attributes.begin(), attributes.end());
  describe_call_chains(changed, endian);
  return changed;
}

/// HEADER_EVENT_DESC, which describes the events again, with their names.
std::vector<std::byte> described_events(const perf::PerfDataFile& recording, std::span<const std::byte> content) {
  const Endian endian = recording.endian();
  std::vector<std::byte> changed(content.begin(), content.end());
  const InputOrigin origin{recording.name(), "description of events"};
  ByteReader reader(content, endian, origin);
  const std::uint32_t count = reader.u32("number of events"), size = reader.u32("size of an event");
  for (std::uint32_t i = 0; i < count; ++i) {
    const auto place = static_cast<std::size_t>(reader.offset());
    describe_call_chains(std::span(changed).subspan(place, reader.take(size, "event").size()), endian);
    const std::uint64_t ids = reader.u32("number of IDs");
    reader.take(reader.u32("length of a name"), "name");
    if (ids > reader.left() / entry_size) reader.fail("more IDs than there is room for");
    reader.take(ids * entry_size, "IDs");
  }
  return changed;
}

std::vector<perf::WrittenEvent> events_of(const perf::PerfDataFile& recording) {
  if (recording.events().empty()) {
    throw Refused(recording.name(), "recording of a pipe, in which events come late (record to a file)");
  }
  std::vector<perf::WrittenEvent> events;
  for (const auto& [attributes, ids] : recording.events()) {
    perf::WrittenEvent& event = events.emplace_back(perf::WrittenEvent{described(attributes, recording.endian()), {}});
    for (std::size_t at = 0; at + entry_size <= ids.size(); at += entry_size)
      event.ids.push_back(load<std::uint64_t>(ids.subspan(at), recording.endian()));
  }
  return events;
}

std::map<unsigned, std::vector<std::byte>> features_of(const perf::PerfDataFile& recording) {
  std::map<unsigned, std::vector<std::byte>> features;
  for (const auto& [feature, content] : recording.all_features()) {
    if (std::ranges::find(left_out, feature) != std::end(left_out)) continue;
    features[feature] =
        feature == events_feature ? described_events(recording, content) : std::vector(content.begin(), content.end());
  }
  // A recording that was cut short has none.
  features.try_emplace(machine_feature, perf::text_feature(perf::machine_of(recording.abi()), recording.endian()));
  return features;
}

/// The recording is read while the file is written.
const std::filesystem::path& other_than(const perf::PerfDataFile& recording, const std::filesystem::path& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) == 0 && FileIdentity(status).is_same_file(recording.mapped().identity()))
    throw Refused(path.string(), "is the recording itself (write another file)");
  return path;
}

/// The recorded call chain with the walked frames of the program.
std::vector<std::uint64_t> chain_of(const Sample& sample, bool tells_left_out) {
  // A program's part comes last.
  const std::vector<std::uint64_t>& recorded = sample.words->call_chain;
  const auto end = std::ranges::find_if(recorded, [](std::uint64_t entry) {
    return entry == recorded::chain_mark::user || entry == recorded::chain_mark::user_deferred;
  });
  std::vector<std::uint64_t> chain(recorded.begin(), end);
  if (!sample.has_user_stack) return chain;
  chain.push_back(recorded::chain_mark::user);
  for (const walk::Frame& frame : sample.user.frames)
    chain.push_back(tells_left_out && frame.left_out != walk::Frame::some ? frame.pc + frame.left_out : frame.pc);
  return chain;
}

}  // namespace

CallChainRecord call_chain_record(const perf::PerfRecord& record, const Sample& sample, Endian endian,
                                  bool tells_left_out) {
  const SampleWords& words = *sample.words;
  const auto before = record.body.first(words.chain_begin);
  const auto between = record.body.subspan(words.chain_end, words.registers_begin - words.chain_end);
  const auto after = record.body.subspan(words.stack_end);
  std::vector<std::uint64_t> chain = chain_of(sample, tells_left_out);
  constexpr std::size_t most = UINT16_MAX;
  const std::size_t others = perf::record_header_size + before.size() + entry_size + between.size() + after.size();
  const std::size_t room = (most - std::min(others, most)) / entry_size;
  const bool is_cut = chain.size() > room;
  chain.resize(std::min(chain.size(), room));
  ByteWriter written(endian);
  written.u32(record.type);
  written.u16(record.flags);
  written.u16(static_cast<std::uint16_t>(others + chain.size() * entry_size));
  written.append_bytes(before);
  written.u64(chain.size());
  for (const std::uint64_t entry : chain) written.u64(entry);
  written.append_bytes(between);
  written.append_bytes(after);
  return {written.release(), is_cut};
}

CallChainFile::CallChainFile(const perf::PerfDataFile& recording, const std::filesystem::path& path)
    : recording_(recording.mapped().identity()),
      endian_(recording.endian()),
      place_(other_than(recording, path), "write"),
      file_(place_, S_IRUSR | S_IWUSR),
      writer_(file_.descriptor(), path.string(), endian_, events_of(recording)) {
  for (auto& [feature, content] : features_of(recording)) writer_.set_feature(feature, content);
}

void CallChainFile::add_sample(const perf::PerfRecord& record, const Sample& sample) {
  ++samples_;
  if ((record.layout->sample_type & replaced) == 0) return add(record);
  const CallChainRecord made = call_chain_record(record, sample, endian_);
  cut_ += made.is_cut ? 1 : 0;
  writer_.append(made.bytes);
}

void CallChainFile::add(const perf::PerfRecord& record) {
  // The record's head is in front of its body.
  writer_.append({record.body.data() - perf::record_header_size, record.body.size() + perf::record_header_size});
}

void CallChainFile::finish() {
  writer_.update();
  const timespec modified{.tv_sec = recording_.modified_s, .tv_nsec = recording_.modified_ns};
  const std::array times{modified, modified};
  if (::futimens(file_.descriptor(), times.data()) != 0) throw SystemFailure(place_.path().string(), "write", errno);
  file_.sync();
  // All that takes room on the disk comes first.
  file_.take_temporary_name();
  keep_old_recording(place_);
  file_.replace_target();
}

}  // namespace sframe_gen::trace::recorded
