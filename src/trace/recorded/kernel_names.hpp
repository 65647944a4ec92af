#pragma once

#include <cstdint>
#include <deque>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "support/hash.hpp"
#include "trace/perf/recording_file.hpp"
#include "trace/walk/section_cache.hpp"

namespace sframe_gen::trace {

struct KernelFunction {
  std::uint64_t begin;
  std::string_view name;
  std::string_view module;  ///< "[ext4]", "[bpf]" of code that the kernel has made; empty: the kernel's own
};

/// The list of a running kernel's functions in the cache directory: the kernel needs more time to write it than a
/// recording to be walked. One file per kernel, written again after a restart or when other modules are loaded.
class KeptFunctions {
 public:
  /// `folder`, empty: nothing is found or kept. `build_id`: the kernel's.
  KeptFunctions(const std::filesystem::path& folder, const std::string& build_id);

  /// True: there is a list.
  bool find();
  /// In ascending order, all of this start of the kernel's and of these modules.
  void keep(std::span<const KernelFunction> functions) const;

  /// The function at `pc`, if it is the same until the kernel is started again or other modules are loaded: not that of
  /// code which the kernel makes as it runs, or which may have come next to what is listed.
  std::optional<std::string_view> name_at(std::uint64_t pc) const;
  /// Whether there is a function of this name at this address.
  bool has(std::uint64_t address, std::string_view name) const;

 private:
  struct Entry {
    std::uint64_t begin;
    std::uint32_t name;  ///< where it stands
    std::uint16_t size;  ///< of it
    std::uint16_t is_lasting;
  };
  std::string_view name_of(const Entry& entry) const;

  std::filesystem::path path_;  ///< empty: nothing is kept
  Digest source_{};             ///< which start of the kernel, with which modules
  std::optional<KeptFile> file_;
  std::span<const Entry> entries_;  ///< ascending
  std::string_view names_;
};

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
  /// The names of the running kernel, which writes its list for each reader: it is read when the first name is asked
  /// for, as many recordings have no frame in the kernel.
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
  /// Whether the kernel was restarted between recording and list, so that there are no names.
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
