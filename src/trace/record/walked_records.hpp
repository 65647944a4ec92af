#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "trace/perf/perf_data_writer.hpp"
#include "trace/perf/record.hpp"
#include "trace/record/program_files.hpp"
#include "trace/record/ring.hpp"
#include "trace/recorded/recorded_programs.hpp"
#include "trace/walk/stack.hpp"

namespace sframe_gen::trace::record {

/// Where recorded records go. Any of them may be missing.
struct RecordSinks {
  perf::PerfDataWriter* file = nullptr;  ///< with call chains
  /// By this program only: the numbers that mappings have of their files tell more than build-ids, and chains tell how
  /// many frames are left out.
  bool is_read_here = false;
  perf::PerfDataWriter* raw = nullptr;  ///< with registers and stacks, as the kernel gave them
  recorded::RecordedPrograms::TakeSample sample{};
};

/// Walks the stacks of samples as they come, and writes what is known then.
class WalkedRecords {
 public:
  /// All have to live on.
  WalkedRecords(const perf::EventLayouts& layouts, ProgramFiles& files, std::size_t most_frames,
                walk::FramePointers frame_pointers, RecordSinks sinks);

  /// As RecordedPrograms has it.
  void use_earlier_samples() { programs_.use_earlier_samples(); }
  /// Takes the next record, in order of time.
  void take(const TakenRecord& taken);
  /// Adds what is known at the end: how many records there was no room for.
  void finish(std::uint64_t lost_in_all);

  const std::optional<recorded::KernelMark>& kernel_mark() const { return programs_.kernel_mark(); }
  std::uint64_t samples() const { return samples_; }
  /// The times of the first and last sample; 0 before there is one.
  std::uint64_t first_ns() const { return first_ns_; }
  std::uint64_t last_ns() const { return last_ns_; }

 private:
  void write(std::span<const std::byte> record);
  void add_build_id(const perf::PerfRecord& record, std::vector<std::byte>& bytes);

  const perf::EventLayouts& layouts_;
  ProgramFiles& files_;
  RecordSinks sinks_;
  recorded::RecordedPrograms programs_;
  walk::Walker walker_;
  std::uint64_t samples_ = 0, lost_ = 0, first_ns_ = 0, last_ns_ = 0;
};

/// Returns a record of the kernel's, which must be whole, as its events describe it. Its layout is null if it is of
/// none of them.
perf::PerfRecord read_record(std::span<const std::byte> bytes, const perf::EventLayouts& layouts);

/// Returns a sample without the room after its stack: the kernel keeps as much as was asked for, and fills what there
/// is. Other records are returned as they are. Throws MalformedInput.
std::vector<std::byte> without_room(const perf::PerfRecord& record, std::span<const std::byte> bytes);

}  // namespace sframe_gen::trace::record
