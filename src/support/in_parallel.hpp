#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <vector>

#include "support/background.hpp"
#include "support/companion.hpp"
#include "support/processors.hpp"

namespace sframe_gen {

/// How many threads such an amount of work is worth, where one of them is to have no less than `least_per_worker`.
inline std::size_t workers_for(std::size_t work, std::size_t least_per_worker) {
  constexpr std::size_t most = 8;
  const std::size_t wanted = work / least_per_worker;
  if (wanted <= 1) return 1;
  return std::min({wanted, most, usable_processors()});
}

/// As above, where a companion that is awake takes its share: the second thread is worth having for a sixteenth of what
/// a new one is worth.
inline std::size_t workers_beside_companion(std::size_t work, std::size_t least_per_new_thread) {
  constexpr std::size_t share = 16;
  const std::size_t workers = workers_for(work, least_per_new_thread);
  return workers > 1 ? workers : std::min(workers_for(work, least_per_new_thread / share), std::size_t{2});
}

/// Calls work(index, worker) for each index below `count`: in several threads, of which one calls at a time for each
/// `worker` below `workers`. Where there is a companion, the last of them begins when that has done what it was given
/// before: three threads on two cores would each take longer, while one may have nothing to do.
template <typename Work>
void for_each_in_parallel(std::size_t count, std::size_t workers, Companion* companion, const Work& work) {
  std::atomic<std::size_t> next = 0;
  const auto run = [&](std::size_t worker) {
    for (std::size_t i = next++; i < count; i = next++) work(i, worker);
  };
  const std::size_t threads = std::min(workers, count);
  std::vector<Background<void>> others;
  Companion::Work last;
  for (std::size_t worker = 1; worker < threads; ++worker) {
    const auto run_as = [&run, worker] { run(worker); };
    if (companion != nullptr && worker + 1 == threads) {
      last = companion->give(run_as);
    } else {
      others.push_back(in_background(run_as));
    }
  }
  run(0);
  if (last.valid()) last.take_back();
  for (Background<void>& other : others) other.get();
}

}  // namespace sframe_gen
