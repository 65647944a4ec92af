#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

namespace sframe_gen::trace::record {

/// Hands out the records that a ring of perf's holds from position `tail` to `head`, one by one, with their headers.
/// `ring`: a power of two of bytes. A record that goes on at the ring's begin is put together. Throws MalformedInput.
using TakeRecord = std::function<void(std::span<const std::byte>)>;
void take_records(std::span<const std::byte> ring, std::uint64_t tail, std::uint64_t head, const TakeRecord& take);

/// What the kernel writes a processor's records into, mapped.
class Ring {
 public:
  /// `event`: open, and as long as this object. `size`: a power of two, of bytes.
  Ring(int event, std::size_t size);
  ~Ring();
  Ring(Ring&& other) noexcept;
  Ring& operator=(Ring&&) = delete;
  Ring(const Ring&) = delete;
  Ring& operator=(const Ring&) = delete;

  /// 0: it is there; else why it could not be mapped (errno).
  int error() const { return error_; }
  int event() const { return event_; }

  /// Hands out what has come since the last call, and gives the room back to the kernel. Returns whether there was so
  /// little room that the kernel may have lost a record: it says so only in front of the next one.
  bool take(const TakeRecord& take);

 private:
  int event_, error_ = 0;
  std::span<std::byte> pages_;  ///< a page of numbers, then the ring
  std::size_t page_size_;
};

/// A record out of a ring.
struct TakenRecord {
  std::uint64_t time = 0;  ///< ns
  std::vector<std::byte> bytes;
};

/// Brings the records of several rings, each in order of time, into one order.
class RecordOrder {
 public:
  void add(TakenRecord record) { records_.push_back(std::move(record)); }
  /// Takes out the records before `time`, in order.
  std::vector<TakenRecord> take_before(std::uint64_t time);
  bool empty() const { return records_.empty(); }

 private:
  std::vector<TakenRecord> records_;
};

/// Records between the thread that empties the rings and the one that walks. While a file's rows are made, they wait
/// here. Once it is full, they wait in the rings, where the kernel counts what it cannot add.
class RecordQueue {
 public:
  explicit RecordQueue(std::size_t most_bytes) : most_bytes_(most_bytes) {}

  bool has_room();
  void put(std::vector<TakenRecord> records);
  /// No more come, or no more are taken.
  void end();
  bool has_ended();
  /// Waits for the next ones, of which there may be none after a moment. Nothing: no more come.
  std::optional<std::vector<TakenRecord>> take();

 private:
  std::size_t most_bytes_, bytes_ = 0;
  bool has_ended_ = false;
  std::deque<std::vector<TakenRecord>> waiting_;
  std::mutex lock_;
  std::condition_variable is_changed_;
};

}  // namespace sframe_gen::trace::record
