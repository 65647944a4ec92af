#include "trace/files/waiting_threads.hpp"

#include <unistd.h>

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
  const auto of_others = [](std::uint32_t user) { return user != 0 && user != ::geteuid(); };
  std::size_t groups_of_user = 0, groups_of_others = 0;
  for (const auto& [waiting, jobs] : state_->waiting) {
    if (waiting.user == group.user) ++groups_of_user;
    if (of_others(waiting.user)) ++groups_of_others;
  }
  // One user may have many numbers (subuid(5)).
  const bool is_full = of_others(group.user) && groups_of_others >= most_groups_of_others;
  if (is_full || groups_of_user >= most_groups_of_user) return false;
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
