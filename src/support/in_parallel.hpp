#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <future>
#include <stop_token>
#include <thread>
#include <vector>

#include "support/background.hpp"
#include "support/busy_core.hpp"

namespace sframe_gen {

/// How many threads such an amount of work is worth, where one of them is to have no less than `least_per_worker`.
inline std::size_t workers_for(std::size_t work, std::size_t least_per_worker) {
  constexpr std::size_t most = 8;
  const std::size_t wanted = work / least_per_worker;
  // glibc opens a file of sysfs to count processors, which a small program need not wait for.
  if (wanted <= 1) return 1;
  return std::min({wanted, most, std::max<std::size_t>(1, std::thread::hardware_concurrency())});
}

/// Calls work(index, worker) for each index below `count`: in several threads, of which one calls at a time for each
/// `worker` below `workers`. Where a core is busy, the last of them begins when it is free: two threads on one core
/// would each take twice as long, while another may have nothing to do.
template <typename Work>
void for_each_in_parallel(std::size_t count, std::size_t workers, const Work& work, BusyCore* busy = nullptr) {
  std::atomic<std::size_t> next = 0;
  const auto run = [&](std::size_t worker) {
    for (std::size_t i = next++; i < count; i = next++) work(i, worker);
  };
  const std::size_t threads = std::min(workers, count);
  std::stop_source all_taken;
  std::vector<std::future<void>> others;
  for (std::size_t worker = 1; worker < threads; ++worker) {
    others.push_back(in_background([&run, worker, is_last = worker + 1 == threads, busy, &all_taken] {
      if (is_last && busy != nullptr) busy->wait(all_taken.get_token());
      run(worker);
    }));
  }
  run(0);
  all_taken.request_stop();
  for (std::future<void>& other : others) other.get();
}

}  // namespace sframe_gen
