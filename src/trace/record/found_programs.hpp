#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <iosfwd>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "trace/files/waiting_threads.hpp"
#include "trace/record/ring.hpp"

/// Records of what is there, as perf writes them of what was there before the recording began.
namespace sframe_gen::trace::record {

/// The kernel's code, from its first function on. All zero: it is kept secret.
struct KernelCode {
  std::string first;
  std::uint64_t begin = 0, end = 0;
};
/// From a list as /proc/kallsyms. That of AArch64 leaves out _text, which is in front of _stext.
KernelCode kernel_code(std::istream& kallsyms);

/// Where the kernel's own functions are, as far as it tells this user.
void describe_kernel(const TakeRecord& take);
/// A process: its threads, their names and its mappings of code, which take the place of those known. One that ends
/// meanwhile is left out. `time`: of the records (ns); before the recording, 0.
void describe_process(int process, std::uint64_t time, const TakeRecord& take);

/// The processes of the machine, ascending.
std::vector<int> running_processes();
/// The threads of a process, ascending; none: it has ended.
std::vector<int> running_threads(int process);

/// Records of what runs, as describe_process() makes them. /proc is read in other threads: a program can make the
/// kernel wait that lists its mappings.
class DescribedPrograms {
 public:
  DescribedPrograms();

  /// Begins to describe processes. `time`: of the records (ns).
  void begin(const std::vector<int>& processes, std::uint64_t time);
  /// Hands out the records that were made since the last call.
  void take(const TakeRecord& take);
  /// Waits until all are described, a second at most.
  void wait();

 private:
  struct State;

  WaitingThreads threads_;
  std::shared_ptr<State> state_;
};

}  // namespace sframe_gen::trace::record
