#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "support/mapped_file.hpp"
#include "trace/perf/perf_data_file.hpp"
#include "trace/recorded/recorded_programs.hpp"
#include "trace/recorded/sample_words.hpp"

namespace sframe_gen::trace::recorded {

/// An event of which there are samples.
struct SampledEvent {
  std::string name;              ///< as it was asked for: "cycles:u"
  bool counts_cpu_time = false;  ///< in ns; others count themselves
  std::uint64_t frequency = 0;   ///< samples a second that were asked for; 0: a period was

  /// Of its periods: "ns", or "page-faults".
  std::string unit() const;
};

/// Of the layouts; there are as many names.
std::vector<SampledEvent> sampled_events(const perf::EventLayouts& layouts, const std::vector<std::string>& names);

/// A recording, from its first sample to its last one.
class Recording {
 public:
  using OpenFile = RecordedPrograms::OpenFile;
  using TakeSample = RecordedPrograms::TakeSample;

  Recording(MappedFile file, OpenFile open_file, RecordedPrograms::OpenJitCode open_jit_code = {});

  const perf::PerfDataFile& file() const { return file_; }
  /// Known when the first sample comes.
  const std::optional<KernelMark>& kernel_mark() const { return programs_.kernel_mark(); }

  /// Chooses samples. False: none of the recording's events has the name that was chosen.
  bool choose(SampleChoice choice);
  void use_earlier_samples() { programs_.use_earlier_samples(); }
  /// In their order.
  std::vector<SampledEvent> events() const { return sampled_events(file_.layouts(), file_.event_names()); }
  /// Returns the numbers of the events that have samples and are chosen.
  std::vector<std::size_t> events_with_samples() const;
  std::uint64_t left_out() const { return programs_.left_out(); }
  std::uint64_t unknown() const { return programs_.unknown(); }

  /// Chosen samples by time, and all records, each sample's after it. `progress`: records done.
  void walk_all(walk::Walker& walker, const TakeSample& take, const std::function<void(std::uint64_t)>& progress,
                const std::function<void(const perf::PerfRecord&)>& take_record = {});

 private:
  perf::PerfDataFile file_;
  SampleChoice choice_;
  DeferredChains deferred_;
  RecordedPrograms programs_;
};

}  // namespace sframe_gen::trace::recorded
