#include "trace/files/waiting_threads.hpp"

#include <algorithm>
#include <deque>
#include <map>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>

namespace sframe_gen::trace {

struct WaitingThreads::State {
  std::mutex lock;
  std::map<WaitingGroup, std::deque<Job>> waiting;  ///< of each group that has a thread
};

WaitingThreads::WaitingThreads() : state_(std::make_shared<State>()) {}

bool WaitingThreads::run(const WaitingGroup& group, Job job) {
  const std::lock_guard guard(state_->lock);
  const auto known = state_->waiting.find(group);
  if (known != state_->waiting.end()) {
    if (known->second.size() == most_jobs) return false;
    known->second.push_back(std::move(job));
    return true;
  }
  const auto of_user =
      std::ranges::count(state_->waiting, group.user, [](const auto& waiting) { return waiting.first.user; });
  if (state_->waiting.size() == most_groups || static_cast<std::size_t>(of_user) >= most_groups_of_user) return false;
  try {
    state_->waiting[group].push_back(std::move(job));
    std::thread([state = state_, group] { run_all(state, group); }).detach();
  } catch (const std::system_error&) {
    state_->waiting.erase(group);
    return false;
  }
  return true;
}

/// Ends with the group's last job.
void WaitingThreads::run_all(const std::shared_ptr<State>& state, const WaitingGroup& group) {
  for (;;) {
    Job job;
    {
      const std::lock_guard guard(state->lock);
      std::deque<Job>& jobs = state->waiting[group];
      if (jobs.empty()) {
        state->waiting.erase(group);
        return;
      }
      job = std::move(jobs.front());
      jobs.pop_front();
    }
    job();
  }
}

}  // namespace sframe_gen::trace
