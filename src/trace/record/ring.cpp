#include "trace/record/ring.hpp"

#include <linux/perf_event.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <iterator>
#include <utility>

#include "sframe_gen/error.hpp"
#include "support/endian.hpp"
#include "support/text.hpp"
#include "trace/perf/record.hpp"

namespace sframe_gen::trace::record {

namespace {

[[noreturn]] void fail(std::uint64_t position, const std::string& what) {
  throw MalformedInput({"perf_event_open", "ring"}, position, what);
}

}  // namespace

void take_records(std::span<const std::byte> ring, std::uint64_t tail, std::uint64_t head, const TakeRecord& take) {
  if (head - tail > ring.size()) fail(tail, "more records than it has room for");
  std::vector<std::byte> joined;
  while (tail != head) {
    const std::size_t begin = tail & (ring.size() - 1);
    // Records are multiples of 8 bytes, as is the ring.
    if (head - tail < perf::record_header_size || ring.size() - begin < perf::record_header_size)
      fail(tail, "a part of a record");
    const auto size = load<std::uint16_t>(ring.subspan(begin + 6), host_endian);
    if (size < perf::record_header_size || size > head - tail) fail(tail, "size is " + hex(size));
    const std::size_t until_end = std::min<std::size_t>(size, ring.size() - begin);
    if (until_end == size) {
      take(ring.subspan(begin, size));
    } else {
      const auto first = ring.subspan(begin), second = ring.first(size - until_end);
      joined.assign(first.begin(), first.end());
      joined.insert(joined.end(), second.begin(), second.end());
      take(joined);
    }
    tail += size;
  }
}

Ring::Ring(int event, std::size_t size) : event_(event), page_size_(static_cast<std::size_t>(::sysconf(_SC_PAGESIZE))) {
  void* const place = ::mmap(nullptr, page_size_ + size, PROT_READ | PROT_WRITE, MAP_SHARED, event, 0);
  if (place == MAP_FAILED) {
    error_ = errno;
  } else {
    pages_ = {static_cast<std::byte*>(place), page_size_ + size};
  }
}

Ring::Ring(Ring&& other) noexcept
    : event_(other.event_),
      error_(other.error_),
      pages_(std::exchange(other.pages_, {})),
      page_size_(other.page_size_) {}

Ring::~Ring() {
  if (!pages_.empty()) ::munmap(pages_.data(), pages_.size());
}

bool Ring::take(const TakeRecord& take) {
  auto* const numbers = reinterpret_cast<perf_event_mmap_page*>(pages_.data());
  // The kernel writes them meanwhile.
  const std::uint64_t head = std::atomic_ref(numbers->data_head).load(std::memory_order_acquire);
  const std::uint64_t tail = numbers->data_tail;
  if (head == tail) return false;
  take_records(pages_.subspan(page_size_), tail, head, take);
  std::atomic_ref(numbers->data_tail).store(head, std::memory_order_release);
  // A mapping's, with a path of 4,096 bytes.
  constexpr std::size_t longest_record = 8192;
  return head - tail + longest_record > pages_.size() - page_size_;
}

std::vector<TakenRecord> RecordOrder::take_before(std::uint64_t time) {
  std::ranges::stable_sort(records_, {}, &TakenRecord::time);
  const auto end = std::ranges::lower_bound(records_, time, {}, &TakenRecord::time);
  std::vector<TakenRecord> taken(std::make_move_iterator(records_.begin()), std::make_move_iterator(end));
  records_.erase(records_.begin(), end);
  return taken;
}

namespace {

std::size_t size_of(const std::vector<TakenRecord>& records) {
  std::size_t size = 0;
  for (const TakenRecord& record : records) size += sizeof record + record.bytes.size();
  return size;
}

}  // namespace

bool RecordQueue::has_room() {
  const std::lock_guard guard(lock_);
  return bytes_ < most_bytes_;
}

void RecordQueue::put(std::vector<TakenRecord> records) {
  if (records.empty()) return;
  const std::lock_guard guard(lock_);
  bytes_ += size_of(records);
  waiting_.push_back(std::move(records));
  is_changed_.notify_one();
}

void RecordQueue::end() {
  const std::lock_guard guard(lock_);
  has_ended_ = true;
  is_changed_.notify_one();
}

bool RecordQueue::has_ended() {
  const std::lock_guard guard(lock_);
  return has_ended_;
}

std::optional<std::vector<TakenRecord>> RecordQueue::take() {
  std::unique_lock guard(lock_);
  is_changed_.wait_for(guard, std::chrono::milliseconds(100), [&] { return has_ended_ || !waiting_.empty(); });
  if (waiting_.empty()) return has_ended_ ? std::nullopt : std::optional<std::vector<TakenRecord>>(std::in_place);
  std::vector<TakenRecord> records = std::move(waiting_.front());
  waiting_.pop_front();
  bytes_ -= size_of(records);
  return records;
}

}  // namespace sframe_gen::trace::record
