#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <future>
#include <thread>
#include <vector>

#include "support/background.hpp"

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
/// `worker` below `workers`.
template <typename Work>
void for_each_in_parallel(std::size_t count, std::size_t workers, const Work& work) {
  std::atomic<std::size_t> next = 0;
  const auto run = [&](std::size_t worker) {
    for (std::size_t i = next++; i < count; i = next++) work(i, worker);
  };
  std::vector<std::future<void>> others;
  for (std::size_t worker = 1; worker < std::min(workers, count); ++worker)
    others.push_back(in_background([&run, worker] { run(worker); }));
  run(0);
  for (std::future<void>& other : others) other.get();
}

}  // namespace sframe_gen
