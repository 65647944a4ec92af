#include "trace/record/recording_header.hpp"

#include <linux/perf_event.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <cstdint>
#include <string_view>

#include "command_line/options.hpp"
#include "support/bytes.hpp"
#include "trace/perf/record.hpp"
#include "trace/record/tracing_data.hpp"
#include "trace/recorded/kernel_names.hpp"

namespace sframe_gen::trace {

namespace {

/// HEADER_* of perf's util/header.h.
enum Feature : unsigned {
  TracingData = 1,
  BuildIds = 2,
  HostName = 3,
  Release = 4,
  Version = 5,
  Machine = 6,
  Processors = 7,
  CommandLine = 11,
  EventDescriptions = 12,
};

void put_text(ByteWriter& feature, std::string_view text) {
  feature.append_bytes(text_feature(text, host_endian));
}

std::vector<std::byte> described_processors() {
  ByteWriter feature(host_endian);
  for (const int which : {_SC_NPROCESSORS_CONF, _SC_NPROCESSORS_ONLN})
    feature.u32(static_cast<std::uint32_t>(::sysconf(which)));
  return feature.release();
}

std::vector<std::byte> described_command_line(const std::vector<std::string>& words) {
  ByteWriter feature(host_endian);
  feature.u32(static_cast<std::uint32_t>(words.size()));
  for (const std::string& word : words) put_text(feature, word);
  return feature.release();
}

std::vector<std::byte> described_events(const std::vector<EventKind>& kinds, const std::vector<WrittenEvent>& events) {
  ByteWriter feature(host_endian);
  feature.u32(static_cast<std::uint32_t>(events.size()));
  feature.u32(static_cast<std::uint32_t>(events.front().attributes.size()));
  for (std::size_t i = 0; i < events.size(); ++i) {
    feature.append_bytes(events[i].attributes);
    feature.u32(static_cast<std::uint32_t>(events[i].ids.size()));
    put_text(feature, kinds[i].name);
    for (const std::uint64_t id : events[i].ids) feature.u64(id);
  }
  return feature.release();
}

/// The kernel's, by which others find its names.
std::vector<std::byte> described_build_ids() {
  constexpr std::size_t id_size = 20, id_room = 24, name_room = 64;
  constexpr std::uint16_t has_size = 1U << 15U;
  const std::string digits = running_build_id();
  if (digits.empty() || digits.size() > 2 * id_size) return {};
  ByteWriter record(host_endian);
  record.u32(0);
  record.u16(PERF_RECORD_MISC_KERNEL | has_size);
  record.u16(record_header_size + 4 + id_room + name_room);
  record.u32(static_cast<std::uint32_t>(-1));
  constexpr int hexadecimal = 16;
  for (std::size_t i = 0; i < digits.size(); i += 2)
    record.u8(command_line::number_of<std::uint8_t>(std::string_view(digits).substr(i, 2), hexadecimal).value_or(0));
  for (std::size_t i = digits.size() / 2; i < id_size; ++i) record.u8(0);
  record.u8(static_cast<std::uint8_t>(digits.size() / 2));
  for (int i = 0; i < 3; ++i) record.u8(0);
  std::string name = kernel_file;
  name.resize(name_room);
  record.append_bytes(std::as_bytes(std::span(name)));
  return record.release();
}

}  // namespace

void describe_recording(PerfDataWriter& writer, const std::vector<EventKind>& kinds,
                        const std::vector<WrittenEvent>& events, const std::vector<std::string>& command_line) {
  utsname host{};
  ::uname(&host);
  const auto set_text = [&](unsigned feature, std::string_view text) {
    writer.set_feature(feature, text_feature(text, host_endian));
  };
  set_text(Feature::HostName, host.nodename);
  set_text(Feature::Release, host.release);
  set_text(Feature::Version, "sframe-trace " SFRAME_GEN_VERSION);
  set_text(Feature::Machine, host.machine);
  writer.set_feature(Feature::Processors, described_processors());
  writer.set_feature(Feature::CommandLine, described_command_line(command_line));
  writer.set_feature(Feature::EventDescriptions, described_events(kinds, events));
  if (auto data = described_tracepoints(kinds); !data.empty())
    writer.set_feature(Feature::TracingData, std::move(data));
  if (auto ids = described_build_ids(); !ids.empty()) writer.set_feature(Feature::BuildIds, std::move(ids));
}

}  // namespace sframe_gen::trace
