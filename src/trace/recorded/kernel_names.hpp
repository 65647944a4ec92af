#pragma once

#include <cstdint>
#include <deque>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "trace/perf/recording_file.hpp"
#include "trace/recorded/kept_functions.hpp"
#include "trace/recorded/kernel_function.hpp"

namespace sframe_gen::trace {

/// Where a recording says that a function of the kernel was: the kernel may lie elsewhere each time it is started
/// (KASLR).
struct KernelMark {
  std::string function;
  std::uint64_t address = 0;
};

/// The kernel's functions by address, from a list as /proc/kallsyms: "ffffffff81000000 T _stext".
class KernelNames {
 public:
  KernelNames() = default;
  /// Lines that are none are passed over; of a list whose addresses are kept secret (all 0) nothing is left.
  explicit KernelNames(std::vector<char> list);
  /// Those of the running kernel, which writes its list anew for each reader: it is read when the first name is asked
  /// for, and many recordings have no frame of the kernel's.
  /// What `kept` has of them is taken from there.
  static KernelNames of_running_kernel(KeptFunctions kept);
  // Names stand in the list.
  KernelNames(const KernelNames&) = delete;
  KernelNames& operator=(const KernelNames&) = delete;
  KernelNames(KernelNames&&) = default;
  KernelNames& operator=(KernelNames&&) = default;
  ~KernelNames() = default;

  /// What a recording says of itself as it is read: to be looked at when the first name is asked for. Has to live on.
  void compare_with(const std::optional<KernelMark>& mark) { mark_ = &mark; }

  /// "do_syscall_64"; empty: unknown.
  std::string_view name_at(std::uint64_t pc);
  /// Whether the kernel was started anew between recording and list, so that there are no names.
  bool are_of_another_start() const { return are_of_another_start_; }

 private:
  void take_list(std::vector<char> list);
  void take_line(std::string_view line);
  void read_running();
  void find_and_check();
  bool has(const KernelMark& mark) const;

  bool is_to_be_read_ = false;  ///< the running kernel's list
  bool is_checked_ = false;
  std::optional<KeptFunctions> kept_;
  bool is_kept_ = false;  ///< there is a list in kept_
  bool are_of_another_start_ = false;
  const std::optional<KernelMark>* mark_ = nullptr;
  std::vector<char> list_;
  std::deque<std::string> changed_;        ///< names that were not fit to be printed
  std::vector<KernelFunction> functions_;  ///< ascending
};

/// As read from a file that does not say how long it is. Throws SystemFailure.
std::vector<char> read_list(const std::filesystem::path& path);

/// Those of the running kernel, if `recording` was made under it, which its build-id tells; else none. `cache`: a
/// folder where they are kept; empty: nowhere.
KernelNames running_kernel_names(const RecordingFile& recording, const std::filesystem::path& cache);

}  // namespace sframe_gen::trace
