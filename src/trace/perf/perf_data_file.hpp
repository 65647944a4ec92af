#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sframe_gen/error.hpp"
#include "sframe_gen/format.hpp"
#include "support/endian.hpp"
#include "support/hash.hpp"
#include "support/mapped_file.hpp"
#include "trace/perf/record.hpp"

namespace sframe_gen::trace::perf {

/// The records that `perf record -z` compresses: one stream of zstd's over all records that hold parts of it.
class CompressedRecords {
 public:
  /// `file`: of messages.
  CompressedRecords(std::string file, std::uint64_t file_size) : file_(std::move(file)), file_size_(file_size) {}

  /// What was left over of the parts before, and the contents of this one, which live as long as this. `offset`: of
  /// the record, for messages. Throws MalformedInput, for more than a recording of that size can hold as well.
  std::span<const std::byte> add(std::span<const std::byte> part, std::uint64_t offset);
  /// The begin of a record that goes on in the next part.
  void leave_over(std::span<const std::byte> bytes) { left_over_.assign(bytes.begin(), bytes.end()); }

 private:
  std::string file_;
  std::uint64_t file_size_;
  std::uint64_t size_ = 0;  ///< of all that was decompressed
  std::deque<std::vector<std::byte>> contents_;
  std::vector<std::byte> left_over_;
  std::vector<std::byte> room_;   ///< for a step of zstd: a record may have no contents, and costs what it has
  std::shared_ptr<void> stream_;  ///< zstd's
};

/// Maps a recording's bytes: of a file, or of a pipe to its end, which is standard input if `path` is "-". Throws
/// Failure.
MappedFile map_recording(const std::filesystem::path& path);

/// What `perf record` writes, to a file or a pipe: tools/perf/Documentation/perf.data-file-format.txt. A header says
/// where events, records and features are; in a pipe, events and features stand between the records. Throws Failure.
class PerfDataFile {
 public:
  /// `here`: this machine, which a file that was cut short is taken to be of, as perf writes at its end what it was
  /// recorded on.
  PerfDataFile(MappedFile file, sframe::Abi here);
  PerfDataFile(const PerfDataFile&) = delete;
  PerfDataFile& operator=(const PerfDataFile&) = delete;

  const std::string& name() const { return file_.name(); }
  Endian endian() const { return endian_; }
  sframe::Abi abi() const { return abi_; }
  /// Build-ids of files as hexadecimal digits, by path, as perf found them after it had recorded.
  const SeededMap<std::string, std::string>& build_ids() const { return features_.build_ids(); }
  /// Sorted by time; records of the same time are in the order of the file.
  const std::vector<PerfRecord>& records() const { return records_; }
  /// The file itself, as large as it is.
  const MappedFile& mapped() const { return file_; }
  /// A description of an event, struct perf_event_attr, and its IDs, in the file's byte order.
  struct Event {
    std::span<const std::byte> attributes, ids;
  };
  /// Of the header; none of a pipe, where events stand between the records.
  const std::vector<Event>& events() const { return events_; }
  const EventLayouts& layouts() const { return layouts_; }
  /// As they were asked for, in the order of the events: "cycles:u".
  std::vector<std::string> event_names() const;
  /// Contents by number (HEADER_* of perf's util/header.h); none of a pipe or a file without an end.
  const std::map<unsigned, std::span<const std::byte>>& all_features() const { return all_features_; }
  /// It has no end, or not all of it.
  bool is_cut() const { return is_cut_; }
  /// Samples of one event at least come with registers and a piece of the stack.
  bool has_stacks() const { return layouts_.has_stacks(); }
  /// Times of records are those of CLOCK_MONOTONIC, as a jitdump's are.
  bool has_monotonic_times() const { return layouts_.has_monotonic_times(); }
  /// The kernel has walked programs' stacks for one event at least, by frame pointers.
  bool has_kernel_chains() const { return layouts_.has_kernel_chains(); }

 private:
  struct Part {
    std::uint64_t offset, size;
  };

  void read_file();
  void read_pipe();
  void read_events(Part part, std::uint64_t entry_size);
  void read_features(std::uint64_t offset, std::span<const std::byte> bits);
  void add_records(std::span<const std::byte> bytes, std::uint64_t offset, bool is_in_file);
  std::span<const std::byte> compressed_part(std::uint32_t type, std::span<const std::byte> whole) const;
  void add_record(PerfRecord record);
  void take_from_pipe(std::uint32_t type, std::span<const std::byte> whole);
  sframe::Abi recorded_abi() const;
  std::span<const std::byte> slice(Part part, const char* what) const;

  MappedFile file_;
  InputOrigin header_origin_;
  Endian endian_;
  bool is_pipe_;
  EventLayouts layouts_;
  std::vector<Event> events_;
  Features features_;
  std::map<unsigned, std::span<const std::byte>> all_features_;
  std::vector<std::string> event_names_;  ///< as the recording has them, if it does
  CompressedRecords compressed_;
  std::vector<PerfRecord> records_;
  sframe::Abi abi_;
  bool is_cut_ = false;
};

}  // namespace sframe_gen::trace::perf
