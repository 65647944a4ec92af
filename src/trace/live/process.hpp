#pragma once

#include <cstdint>
#include <istream>
#include <string>
#include <vector>

#include "trace/walk/address_space.hpp"
#include "trace/walk/code_file.hpp"

namespace sframe_gen::trace::live {

/// The mappings of code in a file as /proc/PID/maps (proc_pid_maps(5)). Lines that are none are passed over.
std::vector<walk::Mapping> executable_mappings(std::istream& maps);

/// Returns the executable mappings of a running process. Throws SystemFailure.
std::vector<walk::Mapping> executable_mappings_of(int pid);

/// Files of a running process, by its own view of the file system, and its memory.
class Process {
 public:
  /// Throws SystemFailure if there is no such process, or it may not be looked at.
  Process(int pid, const walk::TranslationOptions& options);

  int pid() const { return pid_; }
  /// "bash"
  std::string name() const;
  /// Its threads now, ascending.
  std::vector<int> threads() const;
  std::string name_of_thread(int thread) const;
  /// Whether `signal` ends it: it neither handles nor ignores it, and the kernel's default does.
  bool is_ended_by(int signal) const;
  bool handles(int signal) const;

  /// Its code as it is mapped now. Files stay open from one call to the next.
  walk::AddressSpace address_space();

  const walk::PerfMaps& perf_maps() const { return perf_maps_; }

  /// What was read before may have changed since.
  void forget_memory() { page_ = 1; }
  /// An unwind::ReadMemory; `context` is a Process.
  static bool read_word(void* context, std::uint64_t address, void* bytes);
  /// As much of [address, address + size) as can be read.
  std::vector<std::byte> read(std::uint64_t address, std::uint64_t size) const;

 private:
  int find_living_thread() const;
  walk::OpenedFile open(const walk::Mapping& mapping);
  int number_in_container() const;

  int pid_;
  int living_thread_;  ///< that files and memory are asked of: the first one may have ended before the others
  const walk::TranslationOptions& options_;
  const FileRoot system_;  ///< where debug files are
  walk::OpenedFiles files_;
  walk::PerfMaps perf_maps_;
  // One page of the stack at a time is read: a walk reads a few words of each.
  std::uint64_t page_ = 1;  ///< address; 1: none
  std::vector<std::byte> page_bytes_;
};

}  // namespace sframe_gen::trace::live
