#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

/// What `perf record` writes, one after the other: linux/perf_event.h.
namespace sframe_gen::trace {

/// What of `struct perf_event_attr` says how an event's records look.
struct EventLayout {
  std::uint64_t sample_type = 0, read_format = 0, branch_type = 0, user_registers = 0;
  bool all_have_id = false;  ///< sample_id_all: records other than samples end in what tells of their sample
};

/// One record, in the order of time.
struct Record {
  std::uint32_t type = 0;
  std::uint16_t flags = 0;          ///< misc
  std::uint64_t time = 0;           ///< ns; 0 of what perf itself has written
  std::span<const std::byte> body;  ///< behind its header
  std::uint64_t offset = 0;         ///< of its header, in the file, or of the compressed record that it was in
  const EventLayout* layout = nullptr;
};

// PERF_RECORD_*
namespace record_type {
inline constexpr std::uint32_t map = 1, name = 3, exit = 4, fork = 7, sample = 9, map2 = 10;
}
// PERF_SAMPLE_*
namespace sample_bit {
inline constexpr std::uint64_t ip = 1, thread = 2, time = 4, address = 8, read = 16, call_chain = 32, id = 64,
                               processor = 128, period = 256, stream_id = 512, raw = 1024, branches = 2048,
                               user_registers = 4096, user_stack = 8192, identifier = 65536;
}

/// Bytes of what each record begins with: type (32 bits), flags and size (16 bits each).
inline constexpr std::size_t record_header_size = 8;

}  // namespace sframe_gen::trace
