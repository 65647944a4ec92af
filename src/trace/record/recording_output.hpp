#pragma once

#include <cstdint>
#include <exception>
#include <filesystem>
#include <future>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "support/mapped_file.hpp"
#include "trace/files/output_file.hpp"
#include "trace/perf/perf_data_writer.hpp"

namespace sframe_gen::trace::record {

/// A recording that is written. It takes its name in a thread of its own, which has the right to do it: what walks
/// stacks and writes has given it up, and what empties the rings must not wait.
class RecordingOutput {
 public:
  RecordingOutput(const std::filesystem::path& path, const std::vector<perf::WrittenEvent>& events)
      : file_(std::in_place, path),
        writer_(file_->descriptor(), path.string(), host_endian, events),
        naming_([this] { name(); }) {}
  /// It gets no name.
  RecordingOutput(Descriptor file, const std::vector<perf::WrittenEvent>& events)
      : unnamed_(std::move(file)), writer_(unnamed_.number(), unnamed_name, host_endian, events) {}
  ~RecordingOutput() { end(false); }
  RecordingOutput(const RecordingOutput&) = delete;
  RecordingOutput& operator=(const RecordingOutput&) = delete;

  perf::PerfDataWriter& writer() { return writer_; }
  /// `takes_name`: the file is to have its name. Throws SystemFailure.
  void update(bool takes_name) {
    writer_.update();
    if (takes_name) ask(true);
  }
  /// The file gets its name if it `is_kept`, and is removed if not and it has none yet. Throws what the naming threw.
  void finish(bool is_kept) {
    end(is_kept);
    if (failure_) std::rethrow_exception(failure_);
  }
  /// Bytes, after the last update.
  std::uint64_t size() const { return writer_.size(); }
  /// Of a file that has a name, or is to get one.
  std::filesystem::path path() const { return file_->current_path(); }
  /// What was written so far, of a file that gets no name.
  MappedFile map() const { return {unnamed_.number(), unnamed_name}; }

 private:
  static constexpr const char* unnamed_name = "temporary recording";

  void name() try {
    if (is_asked_.get_future().get()) file_->take_name();
  } catch (...) {
    failure_ = std::current_exception();
  }
  void ask(bool yes) {
    if (!std::exchange(was_asked_, true)) is_asked_.set_value(yes);
  }
  void end(bool is_kept) {
    ask(is_kept);
    if (naming_.joinable()) naming_.join();
  }

  std::optional<RecordingFile> file_;
  Descriptor unnamed_;
  perf::PerfDataWriter writer_;
  std::exception_ptr failure_;
  bool was_asked_ = false;
  std::promise<bool> is_asked_;
  std::thread naming_;
};

}  // namespace sframe_gen::trace::record
