#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include "trace/perf/record.hpp"
#include "trace/record/event_files.hpp"
#include "trace/record/found_programs.hpp"
#include "trace/record/program_files.hpp"
#include "trace/record/ring.hpp"

namespace sframe_gen::trace::record {

/// Which processes are to be looked at again after the kernel has lost records, mappings among which it does not tell.
/// A process is, when its next sample comes, once for each loss and at most once a second. Those that began since are
/// not: their records came.
class LostMappings {
 public:
  /// Records may have been lost.
  void expect_loss() { lost_again_ = true; }
  /// Takes the next record of a ring, which has a layout. `now`: ns. Returns a process to look at.
  std::optional<int> take(const perf::PerfRecord& record, std::uint64_t now);

 private:
  std::optional<std::uint64_t> lost_at_;  ///< when known_ was emptied
  bool lost_again_ = false;               ///< since then
  std::set<int> known_;
};

/// The rings of all processors, and what comes out of them: records in order, as small as they can be, of files that
/// are open. After records were lost, /proc tells what the programs have mapped.
class Rings {
 public:
  /// Each ring has room for a second of samples, but all together for a 32nd of the memory at most; a user without
  /// rights gets what the limits allow. All have to live on. Throws Refused.
  Rings(const EventFiles& events, const perf::EventLayouts& layouts, ProgramFiles& files);

  /// A record that did not come out of a ring.
  void add(std::span<const std::byte> record);
  /// Adds records of running processes, as far as the kernel lists what they are within a second.
  void describe(const std::vector<int>& processes);
  /// Takes out all that has come.
  void take_out();
  /// Returns the records that no other one of the rings can come before; with `all`, all.
  std::vector<TakenRecord> in_order(bool all);

  /// Records wait for those that may come before them.
  bool has_some() const { return !order_.empty(); }

  /// Files to wait for. poll() says that they can be read when there are records.
  std::vector<int> descriptors() const;
  std::size_t size_of_each() const { return size_; }
  /// The limits gave less than the rate asks for.
  bool are_small() const { return is_small_; }
  /// What the rings had no room for, by processor, once the events have ended.
  std::map<int, LostRecords> lost() const;

 private:
  struct OfProcessor {
    Ring ring;
    int processor;
    bool is_side_band;
  };

  bool map_all(const EventFiles& events);
  void take(const OfProcessor& ring, std::span<const std::byte> record);
  void add(std::span<const std::byte> bytes, bool tells_of_lost_mappings);

  const EventFiles& events_;
  const perf::EventLayouts& layouts_;
  ProgramFiles& files_;
  std::size_t size_;
  bool is_small_ = false;
  std::vector<OfProcessor> rings_;  ///< the side band's first: a sample's mapping is known before it
  std::vector<std::byte> changed_;  ///< its room is used again
  RecordOrder order_;
  LostMappings lost_mappings_;
  DescribedPrograms described_;
  std::map<int, LostRecords> lost_;  ///< by processor, as far as records tell
  std::uint64_t emptied_ = 0;        ///< when the rings were last emptied (ns)
};

/// CLOCK_MONOTONIC in ns, by which records have their time.
std::uint64_t now_ns();

}  // namespace sframe_gen::trace::record
