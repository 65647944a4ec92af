#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "support/mapped_file.hpp"
#include "trace/perf/record.hpp"
#include "trace/record/event_files.hpp"
#include "trace/record/program_files.hpp"
#include "trace/record/recorded_command.hpp"
#include "trace/record/recording_output.hpp"
#include "trace/record/ring.hpp"
#include "trace/record/rings.hpp"
#include "trace/record/walked_records.hpp"
#include "trace/walk/code_file.hpp"
#include "trace/walk/code_patterns.hpp"

namespace sframe_gen::trace::record {

/// What `sframe-trace record` records, and how.
struct RecordOptions {
  bool all = false;                      ///< the whole machine
  std::vector<int> processors;           ///< of the whole machine; empty: all
  std::vector<int> processes;            ///< that run
  std::vector<std::string> events;       ///< by name; empty: cycles, or cpu-clock where they are not counted
  std::uint64_t frequency = 0;           ///< samples a second; 0: as the target has it
  bool is_most_frequent = false;         ///< as often as the kernel allows
  std::uint64_t period = 0;              ///< events between two samples; 0: by frequency
  std::optional<std::uint64_t> time_ns;  ///< to record; none: to the end
  std::uint32_t stack = 65528;           ///< bytes of a stack: the kernel's most
  bool as_root = false;                  ///< the command keeps root's rights under sudo
  std::vector<std::string> words;        ///< of the command line, from "record" on
  std::string stacks_asked;              ///< perf's option for stacks, which are recorded anyway; empty: none
  std::filesystem::path output;          ///< empty: none, since stacks are printed

  bool is_of_machine() const { return all || !processors.empty(); }
};

/// How the stacks are walked.
struct WalkOptions {
  const walk::TranslationOptions& translation;
  walk::FramePointers frame_pointers = walk::FramePointers::Auto;
  std::size_t most_frames = 0;
  bool earlier_samples = false;  ///< give larger stacks than were recorded their outer frames
};

/// Everything of a recording under way. One thread empties the rings, another one walks and writes.
class Recorder {
 public:
  using TakeSample = recorded::RecordedPrograms::TakeSample;

  /// Starts the command, if there is one, which waits, and opens the events and what is written. A recording without a
  /// name goes to a file system as that of `folder`. `take` is called for each sample, in the thread that walks. All
  /// have to live on. Throws Failure, or UsageError.
  Recorder(const RecordOptions& options, const std::vector<std::string>& command, const WalkOptions& walking,
           const std::filesystem::path& folder, TakeSample take);

  /// Records until a signal, the time, the command or the processes end it, and gives the recording its name, or none
  /// if the command could not be run. `say_begun` is called when it begins. Returns why it failed, or null. From then
  /// on, a signal ends this program.
  std::exception_ptr run(const std::function<void()>& say_begun);

  /// Null: there is none.
  RecordedCommand* command() { return command_.get(); }
  /// The recording is kept: the command could be run.
  bool is_kept() const { return is_kept_; }
  const EventFiles& events() const { return events_; }
  ProgramFiles& files() { return files_; }
  const RecordingOutput& output() const { return *file_; }
  std::uint64_t samples() const { return records_->samples(); }
  /// By processor.
  std::map<int, LostRecords> lost() const { return rings_->lost(); }
  bool are_rings_small() const { return rings_->are_small(); }

 private:
  void open_outputs(const std::filesystem::path& folder, TakeSample take);
  template <typename File>
  std::unique_ptr<RecordingOutput> make_file(File file, const std::vector<perf::WrittenEvent>& events) const;
  void update_files(bool take_name);
  void finish_files(bool is_kept);
  void describe_what_runs();
  void take_in();
  void walk_all();

  const RecordOptions& options_;
  WalkOptions walking_;
  Descriptor signals_;
  std::unique_ptr<RecordedCommand> command_;
  EventFiles events_;
  ProgramFiles files_;
  perf::EventLayouts layouts_;
  std::optional<Rings> rings_;
  std::unique_ptr<RecordingOutput> file_, raw_;
  std::optional<WalkedRecords> records_;
  RecordQueue queue_{most_waiting};
  bool is_kept_ = false;
  std::exception_ptr failure_;  ///< of the thread that walks

  /// Bytes of records: a program's first sample may wait for a second until rows are made.
  static constexpr std::size_t most_waiting = std::size_t{256} << 20U;
};

}  // namespace sframe_gen::trace::record
