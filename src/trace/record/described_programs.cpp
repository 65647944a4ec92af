#include "trace/record/described_programs.hpp"

#include <sys/stat.h>

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <map>
#include <mutex>
#include <string>
#include <utility>

#include "trace/record/found_programs.hpp"

namespace sframe_gen::trace::record {

struct DescribedPrograms::State {
  std::mutex lock;
  std::condition_variable is_changed;
  std::size_t under_way = 0;  ///< jobs
  std::vector<std::vector<std::byte>> records;
};

DescribedPrograms::DescribedPrograms() : state_(std::make_shared<State>()) {}

void DescribedPrograms::begin(const std::vector<int>& processes, std::uint64_t time) {
  // One user's programs can make each other wait, and no other user's.
  std::map<uid_t, std::vector<int>> by_user;
  for (const int process : processes) {
    struct stat status {};
    if (::stat(("/proc/" + std::to_string(process)).c_str(), &status) == 0) by_user[status.st_uid].push_back(process);
  }
  for (auto& [user, of_user] : by_user) {
    const auto describe = [state = state_, of_user = std::move(of_user), time] {
      for (const int process : of_user) {
        describe_process(process, time, [&](std::span<const std::byte> record) {
          const std::lock_guard guard(state->lock);
          state->records.emplace_back(record.begin(), record.end());
        });
      }
      const std::lock_guard guard(state->lock);
      --state->under_way;
      state->is_changed.notify_all();
    };
    const std::lock_guard guard(state_->lock);
    if (threads_.run({user, "processes"}, describe)) ++state_->under_way;
  }
}

void DescribedPrograms::take(const TakeRecord& take) {
  std::vector<std::vector<std::byte>> records;
  {
    const std::lock_guard guard(state_->lock);
    records = std::exchange(state_->records, {});
  }
  for (const std::vector<std::byte>& record : records) take(record);
}

void DescribedPrograms::wait() {
  std::unique_lock guard(state_->lock);
  state_->is_changed.wait_for(guard, std::chrono::seconds(1), [&] { return state_->under_way == 0; });
}

}  // namespace sframe_gen::trace::record
