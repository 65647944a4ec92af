#pragma once

#include <cstdint>
#include <istream>
#include <string>
#include <string_view>
#include <vector>

#include "trace/perf/recording_file.hpp"

namespace sframe_gen::trace {

/// The kernel's functions by address, from a list as /proc/kallsyms: "ffffffff81000000 T _stext".
class KernelNames {
 public:
  KernelNames() = default;
  /// Lines that are none are passed over; of a list whose addresses are kept secret (all 0) nothing is left.
  explicit KernelNames(std::istream& list);

  /// "do_syscall_64"; empty: unknown.
  std::string_view name_at(std::uint64_t pc) const;

 private:
  struct Function {
    std::uint64_t begin;
    std::string name;
  };
  std::vector<Function> functions_;  ///< ascending
};

/// Those of the running kernel, if `recording` was made under it, which its build-id tells; else none.
KernelNames running_kernel_names(const RecordingFile& recording);

}  // namespace sframe_gen::trace
