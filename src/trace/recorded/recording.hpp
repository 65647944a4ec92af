#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sframe_gen/format.hpp"
#include "support/bytes.hpp"
#include "support/hash.hpp"
#include "support/mapped_file.hpp"
#include "trace/files/file_root.hpp"
#include "trace/perf/perf_data_file.hpp"
#include "trace/recorded/deferred_chains.hpp"
#include "trace/recorded/kernel_names.hpp"
#include "trace/recorded/sample_choice.hpp"
#include "trace/walk/address_space.hpp"
#include "trace/walk/outer_stack.hpp"
#include "trace/walk/stack.hpp"

namespace sframe_gen::trace {

/// Files that were opened as programs mapped them, which may be gone under their names.
struct KeptOpen {
  std::function<OpenedFile(const Mapping&)> code;
  /// Never null.
  std::function<std::shared_ptr<const OpenFile>(const Mapping&)> jitdump;
};

/// The files of a recording: as they are on disk now, if they still are what was recorded, or as they were kept open.
class RecordedFiles {
 public:
  /// `root`: where they are. `kept_open`: asked instead for what mappings name, if it is given.
  RecordedFiles(const FileRoot& root, const TranslationOptions& options, KeptOpen kept_open = {})
      : root_(root), options_(options), kept_open_(std::move(kept_open)) {}

  /// Sets the ABI and the identity of the recording. Files of other ABIs are rejected. A mapping without a build-id
  /// also rejects a file that has changed since the recording was written. `has_monotonic_times`: its times are those
  /// of CLOCK_MONOTONIC, as a jitdump's are.
  void expect(sframe::Abi abi, const FileIdentity& recording, bool has_monotonic_times) {
    abi_ = abi;
    recording_ = recording;
    has_monotonic_times_ = has_monotonic_times;
  }

  OpenedFile open(const Mapping& mapping);

  /// The code of a process, if the mapping is that of its jitdump; else null. Asked once for each mapping.
  std::shared_ptr<JitCode> jit_code(const Mapping& mapping);

  /// Names of files without a build-id whose inode was changed after the recording, but not their contents: they got a
  /// link, a name, an owner or a mode.
  const std::vector<std::string>& relabeled() const { return relabeled_; }
  const PerfMaps& perf_maps() const { return perf_maps_; }
  /// "/tmp/jit-4711.dump: for another architecture": those that are asked for and cannot be used.
  std::vector<std::string> refused_jitdumps() const;

 private:
  OpenedFile open_first(const Mapping& mapping);
  OpenedFile open_here(const Mapping& mapping);
  OpenedFile fetch(const Mapping& mapping) const;
  JitDump open_jitdump(const Mapping& mapping);

  const FileRoot& root_;
  const TranslationOptions& options_;
  KeptOpen kept_open_;
  std::optional<sframe::Abi> abi_;
  FileIdentity recording_;
  bool has_monotonic_times_ = false;
  std::vector<std::shared_ptr<JitCode>> jit_codes_;
  std::uint64_t jitdump_bytes_ = 0;  ///< of those that were opened
  std::vector<std::string> relabeled_;
  OpenedFiles files_;
  PerfMaps perf_maps_;
};

struct SampleWords;

/// An event of which there are samples.
struct SampledEvent {
  std::string name;              ///< as it was asked for: "cycles:u"
  bool counts_cpu_time = false;  ///< in ns; others count themselves
  std::uint64_t frequency = 0;   ///< samples a second that were asked for; 0: a period was

  /// Of its periods: "ns", or "page-faults".
  std::string unit() const;
};

/// Of the layouts; there are as many names.
std::vector<SampledEvent> sampled_events(const EventLayouts& layouts, const std::vector<std::string>& names);

/// One sample, its stack walked.
struct Sample {
  int process = 0, thread = 0;
  std::string name;                   ///< of the thread when it was taken
  std::string process_name;           ///< of the process's first thread, as far as it is known
  std::string_view program;           ///< the file that the process runs, until the next sample; empty: not known
  std::uint64_t time = 0;             ///< ns
  std::size_t event = 0;              ///< its number
  std::uint64_t period = 1;           ///< how many of the event it stands for
  std::vector<std::uint64_t> kernel;  ///< PCs as they were recorded, the innermost first
  bool has_user_stack = false;        ///< else it is a thread of the kernel's, or nothing of it was recorded
  Stack user;
  const SampleWords* words = nullptr;  ///< as it was recorded, until the next one
};

/// A stack as it was recorded: a piece of memory from SP upwards.
struct RecordedStack {
  std::uint64_t address = 0;
  std::span<const std::byte> bytes;

  static bool read_word(void* context, std::uint64_t address, void* bytes);
};

/// A sample's words, as linux/perf_event.h lists them at PERF_RECORD_SAMPLE.
struct SampleWords {
  std::uint64_t pc = 0, period = 0;
  int process = 0, thread = 0;
  std::vector<std::uint64_t> call_chain;
  std::vector<std::uint64_t> registers;
  RecordedStack stack;
  /// Places in the record's body: of the call chain, whose length comes first, or where it would be; and of registers
  /// and stack, which follow each other.
  std::size_t chain_begin = 0, chain_end = 0, registers_begin = 0, stack_end = 0;
};

/// PERF_CONTEXT_*: entries of a call chain that say whose PCs follow.
namespace chain_mark {
inline constexpr auto first = static_cast<std::uint64_t>(-4095), kernel = static_cast<std::uint64_t>(-128),
                      user = static_cast<std::uint64_t>(-512), user_deferred = static_cast<std::uint64_t>(-640);
}

/// Reads `count` words. Throws MalformedInput, naming `what`, if there is no room for them.
void read_words(ByteReader& reader, std::uint64_t count, Endian endian, const char* what,
                std::vector<std::uint64_t>& words);

/// What a record says of a mapping.
struct MappingWords {
  int process = 0;
  bool is_code = false;
  Mapping mapping;
};

/// Reads a record of the type map or map2. Throws MalformedInput.
MappingWords read_mapping(const PerfRecord& record, Endian endian, const InputOrigin& origin);

/// Where records come from.
struct RecordSource {
  std::string name;  ///< for messages
  Endian endian = host_endian;
  sframe::Abi abi{};
  /// Build-ids of files as digits, by path, or null.
  const SeededMap<std::string, std::string>* build_ids = nullptr;
  std::uint64_t records = 0;  ///< as far as it is known how many there are
  /// The kernel's call chains have at most so many PCs (kernel.perf_event_max_stack).
  std::uint64_t longest_chain = 127;
  /// Chains that samples wait for, or null.
  const DeferredChains* deferred = nullptr;
};

/// The programs that records tell of, and their samples: of a file, or as the kernel hands them out.
class RecordedPrograms {
 public:
  /// Asked for the file of each mapping that a stack leads to, and so of one file several times.
  using OpenFile = std::function<OpenedFile(const Mapping&)>;
  /// Asked for each mapping. Null: it is not that of a jitdump.
  using OpenJitCode = std::function<std::shared_ptr<JitCode>(const Mapping&)>;
  /// The sample's locations stay as long as the programs.
  using TakeSample = std::function<void(const Sample&)>;

  RecordedPrograms(RecordSource source, OpenFile open_file, OpenJitCode open_jit_code = {});

  /// Known when the first sample comes.
  const std::optional<KernelMark>& kernel_mark() const { return kernel_mark_; }

  /// Samples that are not chosen are neither walked nor handed out.
  void choose(SampleChoice choice) { choice_ = std::move(choice); }
  /// From now on, stacks that are larger than what was recorded of them get the outer frames of their threads' earlier
  /// samples, as OuterStacks says.
  void use_earlier_samples() { outer_stacks_.emplace(); }
  /// Samples that were not chosen so far.
  std::uint64_t left_out() const { return left_out_; }
  /// Records of the kernel's of a type that is not known.
  std::uint64_t unknown() const { return unknown_; }

  /// Takes the next record, in order of time. A sample is walked, and handed to `take`.
  void take(const PerfRecord& record, Walker& walker, const TakeSample& take);

 private:
  /// Shared by programs that were forked, until one maps something.
  using Space = std::shared_ptr<AddressSpace>;

  /// A program runs on while it has threads, also when its first one, which has its number, has ended.
  struct Program {
    Space space;
    std::set<int> others{};  ///< than the first one
    bool has_first = true;
    std::string file{};        ///< that it runs: the first that it mapped
    std::uint64_t number = 0;  ///< tells it from those that had its process's number before
    bool has_run = true;       ///< false: as far as is known, it is still being executed by the one before
  };

  void take_mapping(const PerfRecord& record);
  void take_kernel(const PerfRecord& record);
  void take_name(const PerfRecord& record);
  void take_fork(const PerfRecord& record);
  void take_exit(const PerfRecord& record);
  void take_sample(const PerfRecord& record, Walker& walker, const TakeSample& take);
  void walk_recorded(const PerfRecord& record, const unwind::Registers& registers, AddressSpace& space, Walker& walker);
  void put_names(Sample& sample) const;
  bool is_of_program_before(const PerfRecord& record, std::uint64_t pc);
  Space& space_of(int process);

  RecordSource source_;
  InputOrigin sample_origin_;
  OpenFile open_file_;
  OpenJitCode open_jit_code_;
  SampleChoice choice_;
  std::uint64_t left_out_ = 0, unknown_ = 0;
  std::uint64_t records_ = 0;  ///< taken
  std::optional<KernelMark> kernel_mark_;
  bool had_sample_ = false;
  std::shared_ptr<Locations> locations_ = std::make_shared<Locations>();
  std::map<int, Program> programs_;
  std::uint64_t programs_begun_ = 0;
  std::optional<OuterStacks> outer_stacks_;  ///< none: earlier samples are not used
  std::uint64_t copied_parts_ = 0;           ///< of mappings, for programs that were forked
  SeededMap<int, std::string> names_;        ///< of threads
  std::vector<std::uint64_t> user_part_;     ///< of the last sample's call chain
  std::vector<std::uint64_t> deferred_;      ///< the chain that the last such sample waited for
  SampleWords words_;                        ///< of the last sample, as is the next: their room is used again
  Sample sample_;
};

/// A recording, from its first sample to its last one.
class Recording {
 public:
  using OpenFile = RecordedPrograms::OpenFile;
  using TakeSample = RecordedPrograms::TakeSample;

  Recording(MappedFile file, OpenFile open_file, RecordedPrograms::OpenJitCode open_jit_code = {});

  const PerfDataFile& file() const { return file_; }
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
  void walk_all(Walker& walker, const TakeSample& take, const std::function<void(std::uint64_t)>& progress,
                const std::function<void(const PerfRecord&)>& take_record = {});

 private:
  PerfDataFile file_;
  SampleChoice choice_;
  DeferredChains deferred_;
  RecordedPrograms programs_;
};

}  // namespace sframe_gen::trace
