#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "support/bytes.hpp"
#include "support/endian.hpp"

namespace sframe_gen::trace::perf {

/// An event as the header of a perf.data file describes it.
struct WrittenEvent {
  std::vector<std::byte> attributes;  ///< struct perf_event_attr; of one size for all events of a file
  std::vector<std::uint64_t> ids;
};

/// Writes a perf.data file: header, events, records in the order in which they come and, after them, features. The file
/// can be read at any moment, also if the writer is killed or has no more room: it then has the records up to the last
/// update, or as many as there was room for.
class PerfDataWriter {
 public:
  /// `file`: open for writing, empty, and as long as this object. `name`: for messages. Throws SystemFailure.
  PerfDataWriter(int file, std::string name, Endian endian, const std::vector<WrittenEvent>& events);
  PerfDataWriter(const PerfDataWriter&) = delete;
  PerfDataWriter& operator=(const PerfDataWriter&) = delete;

  /// Sets what the next update writes of a feature (HEADER_* of perf's util/header.h, below 256). Nothing: none.
  void set_feature(unsigned feature, std::vector<std::byte> content);

  /// Adds a whole record, with its header. Updates the file once a few MiB have come together. Throws SystemFailure.
  void append(std::span<const std::byte> record);
  /// Brings the file up to date: all records, all features, and a header that says so. Throws SystemFailure.
  void update();

  /// Bytes of the file after the last update.
  std::uint64_t size() const { return size_; }

 private:
  void write_header(std::uint64_t data_end, bool has_features);
  void write_at(std::uint64_t offset, std::span<const std::byte> bytes);
  std::size_t write_some(std::uint64_t offset, std::span<const std::byte> bytes);

  int file_;
  std::string name_;
  Endian endian_;
  std::uint64_t event_size_ = 0, events_ = 0, events_end_ = 0;  ///< of the table: bytes of an entry, and its place
  std::uint64_t data_begin_ = 0, data_end_ = 0;                 ///< of the records in the file
  std::uint64_t size_ = 0;
  ByteWriter waiting_;  ///< records that are not in the file yet
  std::map<unsigned, std::vector<std::byte>> features_;
};

/// The content of a feature that is a text (HEADER_HOSTNAME, HEADER_ARCH, …): its size, and the text padded with zeros.
std::vector<std::byte> text_feature(std::string_view text, Endian endian);

}  // namespace sframe_gen::trace::perf
