#pragma once

#include <functional>
#include <thread>

namespace sframe_gen {

/// A thread that runs on any processor but its creator's, if there is another. Kernels that would rather keep others
/// asleep (some do for virtual machines, some to save power) let a new thread wait until its creator's slice is over:
/// two milliseconds, which is longer than most of what threads do here. They would bring it back there, too. Throws
/// std::system_error where the system gives no more threads.
std::jthread begin_beside(std::function<void()> work);

}  // namespace sframe_gen
