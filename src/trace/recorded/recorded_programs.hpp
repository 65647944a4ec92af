#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "sframe_gen/format.hpp"
#include "support/hash.hpp"
#include "trace/perf/perf_data_file.hpp"
#include "trace/recorded/kernel_names.hpp"
#include "trace/recorded/sample_choice.hpp"
#include "trace/recorded/sample_words.hpp"
#include "trace/walk/address_space.hpp"
#include "trace/walk/outer_frames.hpp"
#include "trace/walk/stack.hpp"

namespace sframe_gen::trace::recorded {

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
  walk::Stack user;
  const SampleWords* words = nullptr;  ///< as it was recorded, until the next one
};

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
  using OpenFile = std::function<walk::OpenedFile(const walk::Mapping&)>;
  /// Asked for each mapping. Null: it is not that of a jitdump.
  using OpenJitCode = std::function<std::shared_ptr<walk::JitCode>(const walk::Mapping&)>;
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
  void take(const perf::PerfRecord& record, walk::Walker& walker, const TakeSample& take);

 private:
  /// Shared by programs that were forked, until one maps something.
  using Space = std::shared_ptr<walk::AddressSpace>;

  /// A program runs on while it has threads, also when its first one, which has its number, has ended.
  struct Program {
    Space space;
    std::set<int> others{};  ///< than the first one
    bool has_first = true;
    std::string file{};        ///< that it runs: the first that it mapped
    std::uint64_t number = 0;  ///< tells it from those that had its process's number before
    bool has_run = true;       ///< false: as far as is known, it is still being executed by the one before
  };

  void take_mapping(const perf::PerfRecord& record);
  void take_kernel(const perf::PerfRecord& record);
  void take_name(const perf::PerfRecord& record);
  void take_fork(const perf::PerfRecord& record);
  void take_exit(const perf::PerfRecord& record);
  void take_sample(const perf::PerfRecord& record, walk::Walker& walker, const TakeSample& take);
  void walk_recorded(const perf::PerfRecord& record, const unwind::Registers& registers, walk::AddressSpace& space,
                     walk::Walker& walker);
  void put_names(Sample& sample) const;
  bool is_of_program_before(const perf::PerfRecord& record, std::uint64_t pc);
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
  std::shared_ptr<walk::Locations> locations_ = std::make_shared<walk::Locations>();
  std::map<int, Program> programs_;
  std::uint64_t programs_begun_ = 0;
  std::optional<walk::OuterStacks> outer_stacks_;  ///< none: earlier samples are not used
  std::uint64_t copied_parts_ = 0;                 ///< of mappings, for programs that were forked
  SeededMap<int, std::string> names_;              ///< of threads
  std::vector<std::uint64_t> user_part_;           ///< of the last sample's call chain
  std::vector<std::uint64_t> deferred_;            ///< the chain that the last such sample waited for
  SampleWords words_;                              ///< of the last sample, as is the next: their room is used again
  Sample sample_;
};

}  // namespace sframe_gen::trace::recorded
