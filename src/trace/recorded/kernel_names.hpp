#pragma once

#include <cstdint>
#include <deque>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "support/hash.hpp"
#include "trace/perf/perf_data_file.hpp"

namespace sframe_gen::trace::recorded {

/// Where a recording says that a function of the kernel was: the kernel may lie elsewhere each time it is started
/// (KASLR).
struct KernelMark {
  std::string function;
  std::uint64_t address = 0;
  std::string build_id{};  ///< of the kernel, as digits, if it is known
};

/// The kernel's functions by address, from a list as /proc/kallsyms: "ffffffff81000000 T _stext".
class KernelNames {
 public:
  KernelNames() = default;
  /// Lines that are none are passed over; of a list whose addresses are kept secret (all 0) nothing is left.
  explicit KernelNames(std::vector<char> list);
  /// The names of the running kernel. It writes its list, `kallsyms`, for each reader, which takes a quarter of a
  /// second. So the list is read when the first name is asked for, as many recordings have no frame in the kernel.
  static KernelNames of_running_kernel(std::filesystem::path kallsyms = "/proc/kallsyms");
  // Names are in the list.
  KernelNames(const KernelNames&) = delete;
  KernelNames& operator=(const KernelNames&) = delete;
  KernelNames(KernelNames&&) = default;
  KernelNames& operator=(KernelNames&&) = default;
  ~KernelNames() = default;

  /// What a recording says of itself as it is read: to be looked at when the first name is asked for. Has to live on.
  void compare_with(const std::optional<KernelMark>& mark) { mark_ = &mark; }

  /// Has no names unless the mark has this build-id, for a recording that does not name the kernel elsewhere.
  void expect_build_id(std::string build_id) { expected_build_id_ = std::move(build_id); }

  /// "do_syscall_64", until the next call; empty: unknown.
  std::string_view name_at(std::uint64_t pc);
  /// Whether the kernel was restarted between recording and list, so that there are no names.
  bool are_of_another_start() const { return are_of_another_start_; }

 private:
  struct Function {
    std::uint64_t begin;
    std::string_view name;
  };

  void take_list(std::vector<char> list);
  void take_line(std::string_view line);
  void find_and_check();
  void read_running();

  std::filesystem::path kallsyms_;  ///< empty: the list was given
  std::string expected_build_id_;   ///< empty: any
  bool is_checked_ = false;
  bool are_of_another_start_ = false;
  const std::optional<KernelMark>* mark_ = nullptr;
  std::vector<char> list_;
  std::deque<std::string> changed_;  ///< names that were not fit to be printed
  std::vector<Function> functions_;  ///< ascending
};

/// What recordings call the kernel's own code.
inline constexpr const char* kernel_file = "[kernel.kallsyms]";

/// The running kernel's build-id as digits; empty: it has none.
std::string running_build_id();

/// As read from a file that does not say how long it is. Throws SystemFailure.
std::vector<char> read_list(const std::filesystem::path& path);

/// Returns the running kernel's names if `recording` was made under it, which its build-id tells; else none.
KernelNames running_kernel_names(const perf::PerfDataFile& recording);

}  // namespace sframe_gen::trace::recorded
