#include "trace/record/tracing_data.hpp"

#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>

#include "support/bytes.hpp"

namespace sframe_gen::trace::record {

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
