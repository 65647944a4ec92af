#include "trace/recorded/recording.hpp"

#include <utility>

#include "trace/perf/event_names.hpp"
#include "trace/walk/kernel_registers.hpp"

namespace sframe_gen::trace::recorded {

Recording::Recording(MappedFile file, OpenFile open_file, RecordedPrograms::OpenJitCode open_jit_code)
    : file_(std::move(file), walk::host_abi()),
      deferred_(file_.records(), file_.endian(), file_.name()),
      programs_(
          {file_.name(), file_.endian(), file_.abi(), &file_.build_ids(), file_.records().size(), 127, &deferred_},
          std::move(open_file), std::move(open_jit_code)) {}

std::string SampledEvent::unit() const {
  return counts_cpu_time ? "ns" : std::string(perf::without_modifiers(name));
}

std::vector<SampledEvent> sampled_events(const perf::EventLayouts& layouts, const std::vector<std::string>& names) {
  std::vector<SampledEvent> events;
  for (const perf::EventLayout& layout : layouts.all())
    events.push_back({names[events.size()], layout.counts_cpu_time, layout.frequency});
  return events;
}

bool Recording::choose(SampleChoice choice) {
  const std::vector<std::string> names = file_.event_names();
  for (std::size_t number = 0; number < names.size(); ++number)
    if (choice.event == names[number] || choice.event == perf::without_modifiers(names[number]))
      choice.events.push_back(number);
  if (!choice.event.empty() && choice.events.empty()) return false;
  choice_ = choice;
  programs_.choose(std::move(choice));
  return true;
}

std::vector<std::size_t> Recording::events_with_samples() const {
  std::vector<bool> has_samples(file_.layouts().all().size());
  for (const perf::PerfRecord& record : file_.records())
    if (record.type == perf::record_type::sample) has_samples[record.layout->number] = true;
  std::vector<std::size_t> numbers;
  for (std::size_t number = 0; number < has_samples.size(); ++number)
    if (has_samples[number] && choice_.has_event(number)) numbers.push_back(number);
  return numbers;
}

void Recording::walk_all(walk::Walker& walker, const TakeSample& take,
                         const std::function<void(std::uint64_t)>& progress,
                         const std::function<void(const perf::PerfRecord&)>& take_record) {
  constexpr std::uint64_t between_reports = 256;
  std::uint64_t done = 0;
  for (const perf::PerfRecord& record : file_.records()) {
    programs_.take(record, walker, take);
    if (take_record) take_record(record);
    if (++done % between_reports == 0 && progress) progress(done);
  }
}

}  // namespace sframe_gen::trace::recorded
