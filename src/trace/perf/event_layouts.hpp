#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>

#include "sframe_gen/error.hpp"
#include "support/endian.hpp"
#include "support/seeded_hash.hpp"
#include "trace/perf/record.hpp"

namespace sframe_gen::trace {

/// The events of a recording, and which of them a record is of.
class EventLayouts {
 public:
  EventLayouts(Origin origin, Endian endian) : origin_(std::move(origin)), endian_(endian) {}

  /// `event`: struct perf_event_attr, of at least smallest_event bytes. `ids`: a word for each. Throws MalformedInput.
  void add(std::span<const std::byte> event, std::span<const std::byte> ids);
  bool empty() const { return layouts_.empty(); }
  /// Samples of one at least come with registers and a piece of the stack.
  bool has_stacks() const;

  /// How that record looks, or null if it is of none of the events. There is one; it lives as long as this.
  const EventLayout* of(const Record& record) const;
  /// In ns, of a record that has a layout; 0 if it does not say.
  std::uint64_t time_of(const Record& record) const;

  static constexpr std::uint64_t smallest_event = 64;

 private:
  EventLayout read(std::span<const std::byte> event) const;

  Origin origin_;
  Endian endian_;
  std::deque<EventLayout> layouts_;
  SeededMap<std::uint64_t, std::size_t> by_id_;
};

}  // namespace sframe_gen::trace
