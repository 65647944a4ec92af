#pragma once

#include <future>
#include <system_error>
#include <utility>

namespace sframe_gen {

/// Runs `work` in a thread of its own, or, where the system gives no more threads, when its result is asked for.
template <typename Work>
auto in_background(Work work) {
  try {
    return std::async(std::launch::async, work);
  } catch (const std::system_error&) {
    return std::async(std::launch::deferred, std::move(work));
  }
}

}  // namespace sframe_gen
