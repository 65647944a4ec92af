#include "trace/record/record_queue.hpp"

#include <chrono>
#include <utility>

namespace sframe_gen::trace::record {

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
