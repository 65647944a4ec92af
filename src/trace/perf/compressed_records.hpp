#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <string>
#include <vector>

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

}  // namespace sframe_gen::trace
