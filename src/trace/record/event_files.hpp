#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "support/mapped_file.hpp"
#include "trace/perf/perf_data_writer.hpp"
#include "trace/record/event_kind.hpp"

namespace sframe_gen::trace::record {

/// What the kernel is asked to record.
struct EventRequest {
  std::vector<EventKind> kinds{};  ///< at least one
  bool is_frequency = true;
  std::uint64_t rate = 0;   ///< samples a second, or events between two samples
  std::uint32_t stack = 0;  ///< bytes of a sample's stack at most, a multiple of 8
  std::vector<int> processors{};
  std::vector<int> threads{};  ///< empty: all of the machine
  bool at_exec = false;        ///< to begin when the thread runs another program
};

/// An event of a processor, and of a thread unless the whole machine is recorded.
struct EventFile {
  Descriptor file;
  std::size_t kind = 0;  ///< index; the one after the last kind is the side band
  int processor = 0;
  bool is_side_band = false;  ///< It tells of mappings, names, forks and ends, and has no samples.
};

/// What there was no room for.
struct LostRecords {
  std::uint64_t samples = 0;
  std::uint64_t others = 0;  ///< of mappings, names, forks and ends
};

/// The kernel's events, which are off until they are told to begin.
class EventFiles {
 public:
  /// Throws Refused, which names the setting that forbids it and how to change that.
  explicit EventFiles(EventRequest request);

  const EventRequest& request() const { return request_; }
  const std::vector<EventFile>& files() const { return files_; }
  /// Why the kernel's own work is not recorded, or empty.
  const std::string& note() const { return note_; }

  /// Of the first kind's first event. The side band's records get it: readers know nothing of another event.
  std::uint64_t first_id() const { return ids_.front(); }
  /// How the kernel writes records of the events, with their numbers.
  std::vector<perf::WrittenEvent> recorded() const { return described(true); }
  /// How records look whose stacks were walked: with a call chain instead of registers and stack.
  std::vector<perf::WrittenEvent> walked() const { return described(false); }

  void begin() const;
  void end() const;
  /// What the kernel had no room for, by processor; nothing where it does not say (before Linux 6.0).
  std::map<int, LostRecords> lost() const;

 private:
  void open_all();
  bool open_one(std::size_t kind, int thread, int processor);
  bool asks_for_less(int error);
  std::vector<perf::WrittenEvent> described(bool has_stack) const;

  EventRequest request_;
  std::vector<EventFile> files_;
  std::vector<std::uint64_t> ids_;  ///< of files_
  bool counts_lost_ = true;
  std::string note_;
};

/// Returns the struct perf_event_attr of an event of the request: as the kernel is asked for it, or as records look
/// whose stacks were walked. `counts_lost`: the kernel counts lost samples (Linux 6.0).
std::vector<std::byte> attributes_of(const EventRequest& request, std::size_t kind, bool counts_lost, bool has_stack);

/// Allows as many open files as the system lets this user have: there is one for each event, thread and processor.
void allow_many_files();

/// "3", of a file of /proc/sys or /sys; empty: it cannot be read.
std::string setting_of(const std::string& path);

}  // namespace sframe_gen::trace::record
