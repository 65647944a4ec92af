#include "trace/perf/record.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <ctime>

#include "elf/notes.hpp"
#include "support/bytes.hpp"
#include "support/text.hpp"

namespace sframe_gen::trace::perf {

namespace {

constexpr std::size_t word_size = 8;

constexpr std::uint64_t id_bits = perf::sample_bit::thread | perf::sample_bit::time | perf::sample_bit::id |
                                  perf::sample_bit::stream_id | perf::sample_bit::processor |
                                  perf::sample_bit::identifier;

std::optional<sframe::Abi> abi_of(std::string_view machine, Endian endian) {
  const bool is_little = endian == Endian::Little;
  if (machine == "x86_64" && is_little) return sframe::Abi::Amd64;
  if (machine == "aarch64" || machine == "aarch64_be") {
    return is_little ? sframe::Abi::Aarch64Little : sframe::Abi::Aarch64Big;
  }
  if (machine == "s390x" && !is_little) return sframe::Abi::S390x;
  return std::nullopt;
}

}  // namespace

std::string_view machine_of(sframe::Abi abi) {
  switch (abi) {
    case sframe::Abi::Amd64:
      return "x86_64";
    case sframe::Abi::Aarch64Little:
      return "aarch64";
    case sframe::Abi::Aarch64Big:
      return "aarch64_be";
    case sframe::Abi::S390x:
      return "s390x";
  }
  return "";
}

void EventLayouts::add(std::span<const std::byte> event, std::span<const std::byte> ids) {
  layouts_.push_back(read(event));
  layouts_.back().number = layouts_.size() - 1;
  for (ByteReader reader(ids, endian_, origin_); reader.left() >= word_size;)
    by_id_[reader.u64("ID")] = layouts_.size() - 1;
}

bool EventLayouts::has_stacks() const {
  constexpr std::uint64_t both = perf::sample_bit::user_registers | perf::sample_bit::user_stack;
  return std::ranges::any_of(layouts_, [](const EventLayout& layout) { return (layout.sample_type & both) == both; });
}

bool EventLayouts::has_monotonic_times() const {
  return std::ranges::all_of(layouts_, &EventLayout::has_monotonic_times);
}

bool EventLayouts::has_kernel_chains() const {
  return std::ranges::any_of(layouts_, [](const EventLayout& layout) {
    return (layout.sample_type & perf::sample_bit::call_chain) != 0 && !layout.excludes_user_chain &&
           !layout.defers_user_chain;
  });
}

EventLayout EventLayouts::read(std::span<const std::byte> event) const {
  // struct perf_event_attr: type, size, config, period, sample_type, read_format, flags, ...
  ByteReader reader(event, endian_, origin_);
  EventLayout layout;
  constexpr std::uint32_t software = 1;
  constexpr std::uint64_t cpu_clock = 0, task_clock = 1;
  layout.type = reader.u32("type");
  reader.u32("size");
  layout.config = reader.u64("event");
  const std::uint64_t period = reader.u64("period");
  layout.counts_cpu_time = layout.type == software && (layout.config == cpu_clock || layout.config == task_clock);
  layout.sample_type = reader.u64("sample type");
  layout.read_format = reader.u64("read format");
  // Bit fields count from the other end on a big-endian machine.
  constexpr unsigned is_frequency = 10, sample_id_all = 18, exclude_callchain_user = 22, use_clock = 25,
                     defer_callchain = 38;
  const std::uint64_t flags = reader.u64("flags");
  const auto has = [&](unsigned bit) { return (flags >> (endian_ == Endian::Little ? bit : 63 - bit) & 1U) != 0; };
  layout.period = has(is_frequency) ? 0 : period;
  layout.frequency = has(is_frequency) ? period : 0;
  layout.all_have_id = has(sample_id_all);
  layout.excludes_user_chain = has(exclude_callchain_user);
  layout.defers_user_chain = has(defer_callchain);
  reader.take(16, "event");
  static_assert(smallest_event == 24 + 3 * word_size + 16);
  // Later versions of Linux have more.
  if (reader.left() >= word_size) reader.u64("event");
  if (reader.left() >= word_size) layout.branch_type = reader.u64("branch type");
  if (reader.left() >= word_size) layout.user_registers = reader.u64("user registers");
  if (reader.left() >= word_size) {
    reader.u32("size of stacks");
    layout.has_monotonic_times = has(use_clock) && reader.i32("clock") == CLOCK_MONOTONIC;
  }
  return layout;
}

const EventLayout* EventLayouts::of(const PerfRecord& record) const {
  const EventLayout& first = layouts_.front();
  if (layouts_.size() == 1 || (first.sample_type & perf::sample_bit::identifier) == 0) return &first;
  // All events that are recorded together have their ID at the same place: the first word of a sample, the last of
  // others.
  if (record.body.size() < word_size) return nullptr;
  if (record.type != perf::record_type::sample && !first.all_have_id) return &first;
  const std::size_t place = record.type == perf::record_type::sample ? 0 : record.body.size() - word_size;
  const auto found = by_id_.find(load<std::uint64_t>(record.body.subspan(place), endian_));
  if (found != by_id_.end()) return &layouts_[found->second];
  // What perf itself wrote of the time before has 0 there.
  return record.type == perf::record_type::sample ? nullptr : &first;
}

std::uint64_t EventLayouts::time_of(const PerfRecord& record) const {
  const std::uint64_t type = record.layout->sample_type;
  if ((type & perf::sample_bit::time) == 0) return 0;
  const auto words_of = [&](std::uint64_t bits) {
    return static_cast<std::size_t>(std::popcount(type & bits)) * word_size;
  };
  std::size_t place = 0;
  if (record.type == perf::record_type::sample) {
    place = words_of(perf::sample_bit::identifier | perf::sample_bit::ip | perf::sample_bit::thread);
  } else {
    const std::size_t id_size = words_of(id_bits);
    if (!record.layout->all_have_id || record.body.size() < id_size) return 0;
    place = record.body.size() - id_size + words_of(perf::sample_bit::thread);
  }
  if (record.body.size() < place + word_size) return 0;
  return load<std::uint64_t>(record.body.subspan(place), endian_);
}

int thread_of(const PerfRecord& record, Endian endian) {
  const std::uint64_t type = record.layout->sample_type;
  const std::size_t id_size = static_cast<std::size_t>(std::popcount(type & id_bits)) * word_size;
  if ((type & perf::sample_bit::thread) == 0 || !record.layout->all_have_id || record.body.size() < id_size) return 0;
  // The process, then the thread, 32 bits each.
  const auto place = record.body.subspan(record.body.size() - id_size + word_size / 2);
  return static_cast<int>(load<std::uint32_t>(place, endian));
}

void Features::add(std::uint64_t feature, std::span<const std::byte> bytes) {
  if (feature == of_machine) read_machine(bytes);
  if (feature == of_build_ids) add_build_ids(bytes);
}

void Features::read_machine(std::span<const std::byte> bytes) {
  ByteReader reader(bytes, endian_, origin_);
  const std::string_view machine = text_before_zero(reader.take(reader.u32("length"), "machine"));
  abi_ = abi_of(machine, endian_);
  if (!abi_) {
    throw Refused(origin_.file, "was recorded on " + printable(machine) +
                                    (endian_ == Endian::Little ? " (little-endian)" : " (big-endian)") +
                                    ", for which SFrame has no ABI");
  }
}

void Features::add_build_ids(std::span<const std::byte> bytes) {
  // After a record's header a process, 20 bytes of ID with their number in the 21st, and a path.
  constexpr std::size_t process = 4, id_room = 24, usual_id = 20;
  ByteReader reader(bytes, endian_, origin_);
  while (reader.left() >= record_header_size + process + id_room) {
    reader.u32("type");
    const std::uint16_t flags = reader.u16("flags");
    const std::uint16_t size = reader.u16("size");
    if (size < record_header_size) reader.fail("size of a build-id's record is " + hex(size));
    const auto record = reader.take(size - record_header_size, "build-id");
    if (record.size() < process + id_room) continue;
    const auto id = record.subspan(process, id_room);
    constexpr std::uint16_t has_size = 1U << 15U;
    const std::size_t id_size = (flags & has_size) != 0
                                    ? std::min<std::size_t>(std::to_integer<std::size_t>(id[usual_id]), usual_id)
                                    : usual_id;
    build_ids_[std::string(text_before_zero(record.subspan(process + id_room)))] = elf::hex_digits(id.first(id_size));
  }
}

}  // namespace sframe_gen::trace::perf
