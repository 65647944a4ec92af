#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "sframe_gen/error.hpp"
#include "sframe_gen/format.hpp"
#include "support/endian.hpp"
#include "support/hash.hpp"

/// What `perf record` writes, one after the other: linux/perf_event.h.
namespace sframe_gen::trace::perf {

/// What of `struct perf_event_attr` says how an event's records look.
struct EventLayout {
  std::size_t number = 0;  ///< of the event, in their order
  std::uint32_t type = 0;
  std::uint64_t config = 0;
  std::uint64_t sample_type = 0, read_format = 0, branch_type = 0, user_registers = 0;
  /// exclude_callchain_user: if there are callers of programs in call chains, it was not the kernel that found them.
  bool excludes_user_chain = false;
  /// Its period is CPU time in ns: cpu-clock and task-clock.
  bool counts_cpu_time = false;
  /// defer_callchain: programs' callers come in records of their own, and need not be by frame pointers.
  bool defers_user_chain = false;
  std::uint64_t period = 0;          ///< of samples that do not say theirs; 0: not known
  std::uint64_t frequency = 0;       ///< samples a second that were asked for; 0: a period was
  bool has_monotonic_times = false;  ///< those of CLOCK_MONOTONIC
  bool all_have_id = false;          ///< sample_id_all: records other than samples end in what tells of their sample
};

/// One record, in the order of time.
struct PerfRecord {
  std::uint32_t type = 0;
  std::uint16_t flags = 0;          ///< misc
  std::uint64_t time = 0;           ///< ns; 0 of what perf itself has written
  std::span<const std::byte> body;  ///< after its header
  std::uint64_t offset = 0;         ///< of its header, in the file, or of the compressed record that it was in
  const EventLayout* layout = nullptr;
};

// PERF_RECORD_*
namespace record_type {
inline constexpr std::uint32_t map = 1, name = 3, exit = 4, fork = 7, sample = 9, map2 = 10, deferred_chain = 22,
                               last_known = record_type::deferred_chain;
}
// PERF_SAMPLE_*
namespace sample_bit {
inline constexpr std::uint64_t ip = 1, thread = 2, time = 4, address = 8, read = 16, call_chain = 32, id = 64,
                               processor = 128, period = 256, stream_id = 512, raw = 1024, branches = 2048,
                               user_registers = 4096, user_stack = 8192, identifier = 65536;
}

/// What a file begins with: "PERFILE2", read by a little-endian host, and how long its header is.
inline constexpr std::uint64_t file_magic = 0x32454c4946524550, file_header_size = 104;

/// Which thread a record is of that is no sample; 0 if it does not say. It has a layout.
int thread_of(const PerfRecord& record, Endian endian);

/// As uname(2) calls the machine: "x86_64".
std::string_view machine_of(sframe::Abi abi);

/// Bytes of what each record begins with: type (32 bits), flags and size (16 bits each).
inline constexpr std::size_t record_header_size = 8;

/// The events of a recording, and which of them a record is of.
class EventLayouts {
 public:
  EventLayouts(InputOrigin origin, Endian endian) : origin_(std::move(origin)), endian_(endian) {}

  /// `event`: struct perf_event_attr, of at least smallest_event bytes. `ids`: a word for each. Throws MalformedInput.
  void add(std::span<const std::byte> event, std::span<const std::byte> ids);
  bool empty() const { return layouts_.empty(); }
  const std::deque<EventLayout>& all() const { return layouts_; }
  /// Samples of one at least come with registers and a piece of the stack.
  bool has_stacks() const;
  /// Times are those of CLOCK_MONOTONIC.
  bool has_monotonic_times() const;
  /// The kernel has walked programs' stacks for one at least, by frame pointers.
  bool has_kernel_chains() const;

  /// How that record looks, or null if it is of none of the events. There is one; it lives as long as this.
  const EventLayout* of(const PerfRecord& record) const;
  /// In ns, of a record that has a layout; 0 if it does not say.
  std::uint64_t time_of(const PerfRecord& record) const;

  /// PERF_ATTR_SIZE_VER0
  static constexpr std::uint64_t smallest_event = 64;

 private:
  EventLayout read(std::span<const std::byte> event) const;

  InputOrigin origin_;
  Endian endian_;
  std::deque<EventLayout> layouts_;
  SeededMap<std::uint64_t, std::size_t> by_id_;
};

/// What perf says of a recording besides its records: the machine, and the build-ids of files. HEADER_* of its
/// util/header.h.
class Features {
 public:
  Features(InputOrigin origin, Endian endian) : origin_(std::move(origin)), endian_(endian) {}

  static bool is_wanted(std::uint64_t feature) { return feature == of_machine || feature == of_build_ids; }
  /// Others are none of ours. Throws MalformedInput, or Refused for a machine for which SFrame has no ABI.
  void add(std::uint64_t feature, std::span<const std::byte> bytes);
  /// Records of a header, a process, an ID and a path. Throws MalformedInput.
  void add_build_ids(std::span<const std::byte> bytes);

  const std::optional<sframe::Abi>& abi() const { return abi_; }
  /// By path, as digits.
  const SeededMap<std::string, std::string>& build_ids() const { return build_ids_; }

 private:
  static constexpr std::uint64_t of_build_ids = 2, of_machine = 6;

  void read_machine(std::span<const std::byte> bytes);

  InputOrigin origin_;
  Endian endian_;
  std::optional<sframe::Abi> abi_;
  SeededMap<std::string, std::string> build_ids_;
};

}  // namespace sframe_gen::trace::perf
