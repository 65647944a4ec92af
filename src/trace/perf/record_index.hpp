#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "support/endian.hpp"
#include "trace/perf/record.hpp"

namespace sframe_gen::trace {

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
  std::shared_ptr<void> stream_;  ///< zstd's
};

/// Where in the middle of a large recording's records one of them may begin, which only whoever comes there from the
/// first one can tell. None: it is not worth it, or nothing there looks like records.
std::optional<std::size_t> guess_record(std::span<const std::byte> records, Endian endian);

/// Finds the records of the kernel's among those of a recording, where they lie or decompressed. Throws MalformedInput.
class RecordIndex {
 public:
  /// Called with each record of perf's own that a pipe has, where a file has a header and an end.
  using TakeOther = std::function<void(std::uint32_t type, std::span<const std::byte> whole)>;

  /// `layouts` must outlive this, and so must the bytes that are added. `file_size`: of the recording. `take_other`:
  /// none if this is no pipe; it may add to the layouts.
  RecordIndex(const EventLayouts& layouts, std::string file, std::uint64_t file_size, Endian endian,
              TakeOther take_other)
      : layouts_(layouts),
        file_(std::move(file)),
        endian_(endian),
        take_other_(std::move(take_other)),
        compressed_(file_, file_size) {}

  /// `offset`: of these bytes, in the file.
  void add(std::span<const std::byte> bytes, std::uint64_t offset);

  /// By time; those of the same time as they stand in the file. Their bytes live as long as this.
  const std::vector<Record>& records() const { return records_; }
  void sort_by_time();
  /// Some bytes are no whole record.
  bool is_cut() const { return is_cut_; }

 private:
  /// Records that stand one behind the other.
  struct Run {
    std::uint64_t size = 0;  ///< in bytes
    std::vector<Record> records;
  };
  void add_one_by_one(std::span<const std::byte> bytes, std::uint64_t offset, bool is_in_file);
  std::uint64_t put_plain(std::span<const std::byte> bytes, std::uint64_t offset, bool is_in_file,
                          std::vector<Record>& records) const;
  bool is_plain(std::uint32_t type, bool is_in_file) const;
  void take_special(std::uint32_t type, std::span<const std::byte> whole, std::uint64_t offset);

  const EventLayouts& layouts_;
  std::string file_;
  Endian endian_;
  TakeOther take_other_;
  CompressedRecords compressed_;
  std::vector<Record> records_;
  bool is_cut_ = false;
};

}  // namespace sframe_gen::trace
