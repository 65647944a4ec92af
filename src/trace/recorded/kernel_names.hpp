#pragma once

#include <cstdint>
#include <deque>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "files/kept_file.hpp"
#include "support/hash.hpp"
#include "trace/perf/perf_data_file.hpp"

namespace sframe_gen::trace {

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
  /// The names of the running kernel, whose build-id is given. It writes its list, `kallsyms`, for each reader, which
  /// takes more time than a recording is walked in. So the list is read when the first name is asked for, as many
  /// recordings have no frame in the kernel, and kept in `folder`: one file per kernel, written again after a restart
  /// or when other modules are loaded. An empty `folder` keeps nothing.
  static KernelNames of_running_kernel(const std::filesystem::path& folder, const std::string& build_id,
                                       std::filesystem::path kallsyms = "/proc/kallsyms");
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
    std::string_view module;  ///< "[ext4]", "[bpf]" of code that the kernel has made; empty: the kernel's own
    /// Whether the name stays valid until the kernel is restarted or other modules are loaded, so that it can be
    /// cached.
    bool is_lasting;
  };

  void take_list(std::vector<char> list);
  void take_line(std::string_view line);
  void find_and_check();
  void read_running();
  void keep() const;
  const Function* function_at(std::uint64_t pc) const;

  std::filesystem::path kallsyms_;  ///< empty: the list was given
  std::filesystem::path kept_;      ///< where it is kept; empty: nowhere
  std::string expected_build_id_;   ///< empty: any
  Digest source_{};                 ///< which start of the kernel, with which modules
  bool is_checked_ = false;
  bool is_kept_ = false;  ///< the list was kept: lines that may not be true any more are those of local functions ("t")
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

/// Returns the running kernel's names if `recording` was made under it, which its build-id tells; else none. `cache`: a
/// directory where they are kept; empty: nowhere.
KernelNames running_kernel_names(const PerfDataFile& recording, const std::filesystem::path& cache);

}  // namespace sframe_gen::trace
