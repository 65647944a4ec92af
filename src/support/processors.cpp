#include "support/processors.hpp"

#include <sched.h>

#include <algorithm>
#include <thread>

namespace sframe_gen {

std::size_t usable_processors() {
  // std::thread asks glibc, which opens a file of sysfs and knows of no such limits.
  cpu_set_t usable;
  if (::sched_getaffinity(0, sizeof usable, &usable) == 0)
    return static_cast<std::size_t>(std::max(1, CPU_COUNT(&usable)));
  // More than a cpu_set_t has.
  return std::max(1U, std::thread::hardware_concurrency());
}

}  // namespace sframe_gen
