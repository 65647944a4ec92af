#include "trace/record/found_programs.hpp"

#include <linux/perf_event.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <fstream>
#include <istream>
#include <map>
#include <mutex>
#include <string_view>
#include <system_error>
#include <utility>

#include "command_line/options.hpp"
#include "sframe_gen/error.hpp"
#include "support/bytes.hpp"
#include "support/directory.hpp"
#include "trace/live/process.hpp"
#include "trace/perf/record.hpp"

namespace sframe_gen::trace::record {

namespace {

/// A record that is put together.
class NewRecord {
 public:
  NewRecord(std::uint32_t type, std::uint16_t flags) : type_(type), flags_(flags) {}

  NewRecord& u32(std::uint64_t value) {
    body_.u32(static_cast<std::uint32_t>(value));
    return *this;
  }
  NewRecord& u64(std::uint64_t value) {
    body_.u64(value);
    return *this;
  }
  NewRecord& text(std::string_view text) {
    constexpr std::size_t word = 8, longest = 4096;  // PATH_MAX
    text = text.substr(0, longest - 1);
    body_.append_bytes(std::as_bytes(std::span(text)));
    do body_.u8(0);
    while (body_.size() % word != 0);
    return *this;
  }
  /// Adds what every record ends with: process, thread, time, processor and event. The last two are 0.
  void give(int process, int thread, std::uint64_t time, const TakeRecord& take) {
    i32(process).i32(thread).u64(time).u64(0).u64(0);
    ByteWriter whole(host_endian);
    whole.u32(type_);
    whole.u16(flags_);
    whole.u16(static_cast<std::uint16_t>(perf::record_header_size + body_.size()));
    whole.append_bytes(body_.bytes());
    take(whole.bytes());
  }
  NewRecord& i32(int value) { return u32(static_cast<std::uint32_t>(value)); }

 private:
  std::uint32_t type_;
  std::uint16_t flags_;
  ByteWriter body_{host_endian};
};

std::vector<int> numbers_in(const std::string& folder) {
  std::vector<int> numbers;
  std::error_code failed;
  for (const std::string& name : names_in(folder, failed))
    if (const auto number = command_line::number_of<int>(name)) numbers.push_back(*number);
  std::ranges::sort(numbers);
  return numbers;
}

void describe_code(const std::string& name, std::uint64_t begin, std::uint64_t size, std::uint64_t offset,
                   const TakeRecord& take) {
  NewRecord(PERF_RECORD_MMAP, PERF_RECORD_MISC_KERNEL)
      .i32(-1)
      .i32(0)
      .u64(begin)
      .u64(size)
      .u64(offset)
      .text(name)
      .give(0, 0, 0, take);
}

/// The parent that /proc/PID/stat has after the name in parentheses, which may hold any letters.
int parent_of(const std::string& folder) {
  std::string text;
  std::getline(std::ifstream(folder + "/stat"), text, '\0');
  const std::size_t name_end = text.rfind(')');
  if (name_end == std::string::npos || name_end + 4 > text.size()) return 0;
  std::string_view rest = std::string_view(text).substr(name_end + 4);
  return command_line::number_of<int>(rest.substr(0, rest.find(' '))).value_or(0);
}

std::string name_of(const std::string& folder) {
  std::string name;
  std::getline(std::ifstream(folder + "/comm"), name, '\0');
  if (name.ends_with('\n')) name.pop_back();
  return name;
}

void describe_thread(int process, int parent, int thread, const std::string& name, std::uint64_t time,
                     const TakeRecord& take) {
  constexpr std::uint16_t is_found = PERF_RECORD_MISC_FORK_EXEC;
  NewRecord(PERF_RECORD_FORK, is_found)
      .i32(process)
      .i32(parent)
      .i32(thread)
      .i32(parent)
      .u64(time)
      .give(process, thread, time, take);
  NewRecord(PERF_RECORD_COMM, 0).i32(process).i32(thread).text(name).give(process, thread, time, take);
}

void describe_mapping(int process, const walk::Mapping& mapping, std::uint64_t time, const TakeRecord& take) {
  NewRecord(PERF_RECORD_MMAP2, PERF_RECORD_MISC_USER)
      .i32(process)
      .i32(process)
      .u64(mapping.begin)
      .u64(mapping.end - mapping.begin)
      .u64(mapping.file_offset)
      .u32(major(mapping.device))
      .u32(minor(mapping.device))
      .u64(mapping.inode)
      .u64(0)
      .u32(PROT_READ | PROT_EXEC)
      .u32(MAP_PRIVATE)
      .text(mapping.path.empty() ? "//anon" : mapping.path)
      .give(process, process, time, take);
}

}  // namespace

KernelCode kernel_code(std::istream& kallsyms) {
  KernelCode code;
  for (std::string line; code.end == 0 && std::getline(kallsyms, line);) {
    constexpr int hexadecimal = 16;
    constexpr std::size_t digits = 16;
    const auto address = command_line::number_of<std::uint64_t>(std::string_view(line).substr(0, digits), hexadecimal);
    if (!address || line.size() < digits + 3) continue;
    const auto name = std::string_view(line).substr(digits + 3);
    if (name == "_text" || (name == "_stext" && code.begin == 0)) {
      if (*address == 0) break;
      code.begin = *address;
      code.first = name;
    }
    if (name == "_etext") code.end = *address;
  }
  return code;
}

std::vector<int> running_processes() {
  return numbers_in("/proc");
}

std::vector<int> running_threads(int process) {
  return numbers_in("/proc/" + std::to_string(process) + "/task");
}

void describe_kernel(const TakeRecord& take) {
  std::ifstream kallsyms("/proc/kallsyms");
  const KernelCode code = kernel_code(kallsyms);
  if (code.begin == 0 || code.end <= code.begin) return;
  describe_code("[kernel.kallsyms]" + code.first, code.begin, code.end - code.begin, code.begin, take);
  std::ifstream modules("/proc/modules");
  std::string name, users, state;
  std::uint64_t size = 0, uses = 0, address = 0;
  for (std::string line; std::getline(modules, line);) {
    std::istringstream fields(line);
    if (fields >> name >> size >> uses >> users >> state >> std::hex >> address && address != 0)
      describe_code("[" + name + "]", address, size, 0, take);
  }
}

void describe_process(int process, std::uint64_t time, const TakeRecord& take) try {
  const std::string folder = "/proc/" + std::to_string(process);
  const std::vector<walk::Mapping> mappings = live::executable_mappings_of(process);
  describe_thread(process, parent_of(folder), process, name_of(folder), time, take);
  for (const int thread : running_threads(process)) {
    if (thread != process)
      describe_thread(process, process, thread, name_of(folder + "/task/" + std::to_string(thread)), time, take);
  }
  for (const walk::Mapping& mapping : mappings) describe_mapping(process, mapping, time, take);
} catch (const SystemFailure&) {
  // It has ended, or it is another user's.
}

struct DescribedPrograms::State {
  std::mutex lock;
  std::condition_variable is_changed;
  std::size_t under_way = 0;  ///< jobs
  std::vector<std::vector<std::byte>> records;
};

DescribedPrograms::DescribedPrograms() : state_(std::make_shared<State>()) {}

void DescribedPrograms::begin(const std::vector<int>& processes, std::uint64_t time) {
  // One user's programs can make each other wait, and no other user's.
  std::map<uid_t, std::vector<int>> by_user;
  for (const int process : processes) {
    struct stat status {};
    if (::stat(("/proc/" + std::to_string(process)).c_str(), &status) == 0) by_user[status.st_uid].push_back(process);
  }
  for (auto& [user, of_user] : by_user) {
    const auto describe = [state = state_, of_user = std::move(of_user), time] {
      for (const int process : of_user) {
        describe_process(process, time, [&](std::span<const std::byte> record) {
          const std::lock_guard guard(state->lock);
          state->records.emplace_back(record.begin(), record.end());
        });
      }
      const std::lock_guard guard(state->lock);
      --state->under_way;
      state->is_changed.notify_all();
    };
    const std::lock_guard guard(state_->lock);
    if (threads_.run({user, "processes"}, describe)) ++state_->under_way;
  }
}

void DescribedPrograms::take(const TakeRecord& take) {
  std::vector<std::vector<std::byte>> records;
  {
    const std::lock_guard guard(state_->lock);
    records = std::exchange(state_->records, {});
  }
  for (const std::vector<std::byte>& record : records) take(record);
}

void DescribedPrograms::wait() {
  std::unique_lock guard(state_->lock);
  state_->is_changed.wait_for(guard, std::chrono::seconds(1), [&] { return state_->under_way == 0; });
}

}  // namespace sframe_gen::trace::record
