#include "trace/record/recording_header.hpp"

#include <linux/perf_event.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <ctime>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <span>
#include <string_view>

#include "command_line/options.hpp"
#include "support/bytes.hpp"
#include "trace/perf/record.hpp"
#include "trace/recorded/kernel_names.hpp"

namespace sframe_gen::trace::record {

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
  ProcessorName = 8,
  ProcessorId = 9,
  CommandLine = 11,
  EventDescriptions = 12,
  SampleTimes = 21,
  ClockResolution = 23,
  ClockPair = 29,
};

void put_text(ByteWriter& feature, std::string_view text) {
  feature.append_bytes(perf::text_feature(text, host_endian));
}

/// "model name" and others of the first processor of /proc/cpuinfo.
std::map<std::string, std::string> first_processor() {
  std::map<std::string, std::string> fields;
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line) && !line.empty();) {
    const std::size_t colon = line.find(':');
    if (colon == std::string::npos) continue;
    const std::string name = line.substr(0, line.find_last_not_of(" \t:", colon) + 1);
    fields[name] = colon + 2 < line.size() ? line.substr(colon + 2) : "";
  }
  return fields;
}

/// As perf has them, which reads a missing one as a null pointer (perf 6.1 data convert --to-json).
void describe_processor_kind(perf::PerfDataWriter& writer, std::string_view machine) {
  const std::map<std::string, std::string> fields = first_processor();
  const auto field = [&](const char* name) {
    const auto found = fields.find(name);
    return found == fields.end() || found->second.empty() ? std::string(machine) : found->second;
  };
  writer.set_feature(Feature::ProcessorName, perf::text_feature(field("model name"), host_endian));
  const std::string id = fields.contains("cpu family") ? field("vendor_id") + "," + field("cpu family") + "," +
                                                             field("model") + "," + field("stepping")
                                                       : std::string(machine);
  writer.set_feature(Feature::ProcessorId, perf::text_feature(id, host_endian));
}

std::uint64_t ns_of(clockid_t clock, int (*read)(clockid_t, timespec*)) {
  constexpr std::uint64_t ns_in_s = 1'000'000'000;
  timespec time{};
  read(clock, &time);
  return static_cast<std::uint64_t>(time.tv_sec) * ns_in_s + static_cast<std::uint64_t>(time.tv_nsec);
}

/// The clock of the records, which EventFiles asks for, and the wall clock at the same time.
void describe_clock(perf::PerfDataWriter& writer) {
  ByteWriter resolution(host_endian), pair(host_endian);
  resolution.u64(ns_of(CLOCK_MONOTONIC, ::clock_getres));
  writer.set_feature(Feature::ClockResolution, resolution.release());
  constexpr std::uint32_t version = 1;
  pair.u32(version);
  pair.u32(CLOCK_MONOTONIC);
  pair.u64(ns_of(CLOCK_REALTIME, ::clock_gettime));
  pair.u64(ns_of(CLOCK_MONOTONIC, ::clock_gettime));
  writer.set_feature(Feature::ClockPair, pair.release());
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

std::vector<std::byte> described_events(const std::vector<EventKind>& kinds,
                                        const std::vector<perf::WrittenEvent>& events) {
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
  const std::string digits = recorded::running_build_id();
  if (digits.empty() || digits.size() > 2 * id_size) return {};
  ByteWriter record(host_endian);
  record.u32(0);
  record.u16(PERF_RECORD_MISC_KERNEL | has_size);
  record.u16(perf::record_header_size + 4 + id_room + name_room);
  record.u32(static_cast<std::uint32_t>(-1));
  constexpr int hexadecimal = 16;
  for (std::size_t i = 0; i < digits.size(); i += 2)
    record.u8(command_line::number_of<std::uint8_t>(std::string_view(digits).substr(i, 2), hexadecimal).value_or(0));
  for (std::size_t i = digits.size() / 2; i < id_size; ++i) record.u8(0);
  record.u8(static_cast<std::uint8_t>(digits.size() / 2));
  for (int i = 0; i < 3; ++i) record.u8(0);
  std::string name = recorded::kernel_file;
  name.resize(name_room);
  record.append_bytes(std::as_bytes(std::span(name)));
  return record.release();
}

}  // namespace

void describe_recording(perf::PerfDataWriter& writer, const std::vector<EventKind>& kinds,
                        const std::vector<perf::WrittenEvent>& events, const std::vector<std::string>& command_line) {
  utsname host{};
  ::uname(&host);
  const auto set_text = [&](unsigned feature, std::string_view text) {
    writer.set_feature(feature, perf::text_feature(text, host_endian));
  };
  set_text(Feature::HostName, host.nodename);
  set_text(Feature::Release, host.release);
  set_text(Feature::Version, "sframe-trace " SFRAME_GEN_VERSION);
  set_text(Feature::Machine, host.machine);
  writer.set_feature(Feature::Processors, described_processors());
  describe_processor_kind(writer, host.machine);
  describe_clock(writer);
  writer.set_feature(Feature::CommandLine, described_command_line(command_line));
  writer.set_feature(Feature::EventDescriptions, described_events(kinds, events));
  if (auto data = described_tracepoints(kinds); !data.empty())
    writer.set_feature(Feature::TracingData, std::move(data));
  if (auto ids = described_build_ids(); !ids.empty()) writer.set_feature(Feature::BuildIds, std::move(ids));
}

void describe_times(perf::PerfDataWriter& writer, std::uint64_t first_ns, std::uint64_t last_ns) {
  ByteWriter times(host_endian);
  times.u64(first_ns);
  times.u64(last_ns);
  writer.set_feature(Feature::SampleTimes, times.release());
}

namespace {

void put(ByteWriter& data, std::string_view text) {
  data.append_bytes(std::as_bytes(std::span(text)));
}

/// With a zero after it.
void put_name(ByteWriter& data, std::string_view name) {
  put(data, name);
  data.u8(0);
}

/// Its size, and all of it. The kernel does not say how long these files are.
void put_file(ByteWriter& data, const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  const std::string content((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  data.u64(content.size());
  put(data, content);
}

}  // namespace

// The layout is that of perf's util/trace-event-info.c, version 0.6.
std::vector<std::byte> described_tracepoints(const std::vector<EventKind>& kinds) {
  std::map<std::string, std::set<std::filesystem::path>> systems;  // folders by system: "sched"
  for (const EventKind& kind : kinds)
    if (kind.is_tracepoint()) systems[kind.folder.parent_path().filename()].insert(kind.folder);
  if (systems.empty()) return {};
  ByteWriter data(host_endian);
  put(data, "\x17\x08\x44tracing");
  put_name(data, "0.6");
  data.u8(host_endian == Endian::Little ? 0 : 1);
  data.u8(sizeof(long));
  data.u32(static_cast<std::uint32_t>(::sysconf(_SC_PAGESIZE)));
  const std::filesystem::path events = systems.begin()->second.begin()->parent_path().parent_path();
  for (const char* const header : {"header_page", "header_event"}) {
    put_name(data, header);
    put_file(data, events / header);
  }
  data.u32(0);  // events of ftrace's own
  data.u32(static_cast<std::uint32_t>(systems.size()));
  for (const auto& [system, folders] : systems) {
    put_name(data, system);
    data.u32(static_cast<std::uint32_t>(folders.size()));
    for (const std::filesystem::path& folder : folders) put_file(data, folder / "format");
  }
  // Bytes of the kernel's functions, of its formats for printk, and of names of threads: there are none.
  data.u32(0);
  data.u32(0);
  data.u64(0);
  return data.release();
}

}  // namespace sframe_gen::trace::record
