#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "sframe_gen/error.hpp"
#include "sframe_gen/format.hpp"
#include "support/endian.hpp"
#include "support/mapped_file.hpp"
#include "support/seeded_hash.hpp"

/// What `perf record` writes, to a file or a pipe: tools/perf/Documentation/perf.data-file-format.txt and
/// linux/perf_event.h.
namespace sframe_gen::trace {

/// What of `struct perf_event_attr` says how an event's records look.
struct EventLayout {
  std::uint64_t sample_type = 0, read_format = 0, branch_type = 0, user_registers = 0;
  bool all_have_id = false;  ///< sample_id_all: records other than samples end in what tells of their sample
};

/// One record, in the order of time.
struct Record {
  std::uint32_t type = 0;
  std::uint16_t flags = 0;          ///< misc
  std::uint64_t time = 0;           ///< ns; 0 of what perf itself has written
  std::span<const std::byte> body;  ///< behind its header
  std::uint64_t offset = 0;         ///< of its header, in the file, or of the compressed record that it was in
  const EventLayout* layout = nullptr;
};

/// A recording's header and the index of its records. Throws Failure.
class RecordingFile {
 public:
  /// `path`: "-" is standard input. `here`: this machine, which a file that was cut short is taken to be of, as perf
  /// writes at its end what it was recorded on.
  RecordingFile(const std::filesystem::path& path, sframe::Abi here);
  RecordingFile(const RecordingFile&) = delete;
  RecordingFile& operator=(const RecordingFile&) = delete;

  const std::string& name() const { return file_.name(); }
  Endian endian() const { return endian_; }
  sframe::Abi abi() const { return abi_; }
  /// Of files, by path, as digits: what perf found in them when it had recorded.
  const SeededMap<std::string, std::string>& build_ids() const { return build_ids_; }
  /// By time; those of the same time as they stand in the file.
  const std::vector<Record>& records() const { return records_; }
  /// The file itself, as large as it is.
  const MappedFile& mapped() const { return file_; }
  /// It has no end, or not all of it.
  bool is_cut() const { return is_cut_; }

 private:
  struct Part {
    std::uint64_t offset, size;
  };

  void read_header();
  void read_pipe();
  void read_layouts(Part part, std::uint64_t entry_size);
  void add_layout(std::span<const std::byte> event, std::span<const std::byte> ids);
  EventLayout read_layout(std::span<const std::byte> bytes) const;
  void read_features(std::uint64_t offset, std::span<const std::byte> bits);
  void read_feature(std::uint64_t feature, std::span<const std::byte> bytes);
  void read_machine(std::span<const std::byte> bytes);
  void read_build_ids(std::span<const std::byte> bytes);
  void take_from_pipe(std::uint32_t type, std::span<const std::byte> whole);
  /// Records that stand one behind the other.
  struct Run {
    std::uint64_t size = 0;  ///< in bytes
    std::vector<Record> records;
  };
  void index_in_halves(std::span<const std::byte> bytes, std::uint64_t offset);
  void index(std::span<const std::byte> bytes, std::uint64_t offset, bool is_in_file);
  std::uint64_t put_plain(std::span<const std::byte> bytes, std::uint64_t offset, bool is_in_file,
                          std::vector<Record>& records) const;
  bool is_plain(std::uint32_t type, bool is_in_file) const;
  void decompress(std::span<const std::byte> bytes, std::uint64_t offset);
  std::uint64_t time_of(const Record& record) const;
  const EventLayout* layout_of(const Record& record) const;
  std::span<const std::byte> slice(Part part, const char* what) const;

  MappedFile file_;
  Origin header_origin_;
  Endian endian_ = Endian::Little;
  sframe::Abi abi_;
  bool has_machine_ = false, is_pipe_ = false;
  std::deque<EventLayout> layouts_;
  SeededMap<std::uint64_t, std::size_t> layout_by_id_;
  SeededMap<std::string, std::string> build_ids_;
  std::vector<Record> records_;
  std::deque<std::vector<std::byte>> decompressed_;
  std::vector<std::byte> left_over_;  ///< of the last compressed record: the begin of one that goes on in the next
  std::uint64_t decompressed_size_ = 0;
  std::shared_ptr<void> stream_;  ///< zstd's, one over all compressed records
  bool is_cut_ = false;
};

// PERF_RECORD_*
namespace record_type {
inline constexpr std::uint32_t map = 1, name = 3, exit = 4, fork = 7, sample = 9, map2 = 10;
}
// PERF_SAMPLE_*
namespace sample_bit {
inline constexpr std::uint64_t ip = 1, thread = 2, time = 4, address = 8, read = 16, call_chain = 32, id = 64,
                               processor = 128, period = 256, stream_id = 512, raw = 1024, branches = 2048,
                               user_registers = 4096, user_stack = 8192, identifier = 65536;
}

}  // namespace sframe_gen::trace
