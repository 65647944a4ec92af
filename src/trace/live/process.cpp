#include "trace/live/process.hpp"

#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstring>
#include <fstream>
#include <sstream>
#include <string_view>
#include <thread>
#include <utility>

#include "sframe_gen/error.hpp"
#include "support/directory.hpp"
#include "support/mapped_file.hpp"
#include "support/text.hpp"

namespace sframe_gen::trace::live {

std::vector<walk::Mapping> executable_mappings(std::istream& maps) {
  std::vector<walk::Mapping> mappings;
  for (std::string line; std::getline(maps, line);) {
    std::istringstream fields(line);
    walk::Mapping mapping;
    std::string rights;
    unsigned major = 0, minor = 0;
    char to = 0, colon = 0;
    fields >> std::hex >> mapping.begin >> to >> mapping.end >> rights >> mapping.file_offset >> major >> colon >>
        minor;
    fields >> std::dec >> mapping.inode;
    if (!fields || to != '-' || rights.size() < 3 || rights[2] != 'x') continue;
    mapping.device = makedev(major, minor);
    std::getline(fields >> std::ws, mapping.path);
    mappings.push_back(std::move(mapping));
  }
  return mappings;
}

std::vector<walk::Mapping> executable_mappings_of(int pid) {
  const std::string name = "/proc/" + std::to_string(pid) + "/maps";
  std::ifstream maps(name);
  if (!maps) throw SystemFailure(name, "open", errno);
  return executable_mappings(maps);
}

namespace {

constexpr std::uint64_t page_size = 4096;

std::string folder_of(int pid) {
  return "/proc/" + std::to_string(pid);
}

/// What /proc has in `folder`: a name, which may have line feeds in it, and another one.
std::string name_in(const std::string& folder) {
  std::ifstream file(folder + "/comm");
  std::string name;
  std::getline(file, name, '\0');
  if (name.ends_with('\n')) name.pop_back();
  return printable(name);
}

/// Whether the signal's bit is set in what /proc/PID/status has after `field`: "SigCgt:	0000000000004002".
bool has_signal(const std::string& folder, std::string_view field, int signal) {
  std::ifstream status(folder + "/status");
  for (std::string line; std::getline(status, line);) {
    const std::size_t begin = line.find_first_not_of(" \t", field.size());
    if (!line.starts_with(field) || begin == std::string::npos) continue;
    std::uint64_t signals = 0;
    std::from_chars(line.data() + begin, line.data() + line.size(), signals, 16);
    return (signals >> static_cast<unsigned>(signal - 1) & 1U) != 0;
  }
  return false;
}

/// Whether an opened file is what `mapping` shows: by its number, or where a file system gives files several, by all of
/// the code.
bool is_mapped(const elf::Image& image, const struct stat& status, const walk::Mapping& mapping,
               const Process& process) {
  if (status.st_dev == mapping.device && status.st_ino == mapping.inode) return true;
  const auto file = image.file_bytes();
  constexpr std::uint64_t piece = 1U << 16U;
  for (std::uint64_t done = 0, size = mapping.end - mapping.begin; done < size; done += piece) {
    if (mapping.file_offset + done >= file.size()) return done != 0;
    const auto expected = file.subspan(mapping.file_offset + done);
    const auto count = std::min<std::uint64_t>({piece, size - done, expected.size()});
    const std::vector<std::byte> memory = process.read(mapping.begin + done, count);
    if (memory.size() != count || std::memcmp(memory.data(), expected.data(), count) != 0) return false;
  }
  return true;
}

/// Pages that a program serves (FUSE, userfaultfd(2)) need never come, and then nothing ends the wait for one but the
/// end of this program, with which the process goes on. SIGALRM is taken by a thread that does not wait for memory.
void end_if_memory_does_not_come() {
  static bool is_taken = false;
  if (std::exchange(is_taken, true)) return;
  sigset_t alarm{};
  ::sigemptyset(&alarm);
  ::sigaddset(&alarm, SIGALRM);
  ::pthread_sigmask(SIG_BLOCK, &alarm, nullptr);
  std::thread([alarm] {
    int signal = 0;
    ::sigwait(&alarm, &signal);
    constexpr std::string_view message = "sframe-trace: error: the process's memory does not come within a second\n";
    static_cast<void>(!::write(STDERR_FILENO, message.data(), message.size()));
    ::_exit(1);
  }).detach();
}

}  // namespace

Process::Process(int pid, const walk::TranslationOptions& options) : pid_(pid), living_thread_(pid), options_(options) {
  end_if_memory_does_not_come();
  if (::access(folder_of(pid).c_str(), F_OK) != 0) throw SystemFailure("process " + std::to_string(pid), "read", ESRCH);
}

std::string Process::name() const {
  return name_in(folder_of(pid_));
}

std::string Process::name_of_thread(int thread) const {
  return name_in(folder_of(pid_) + "/task/" + std::to_string(thread));
}

std::vector<int> Process::threads() const {
  std::vector<int> threads;
  std::error_code failed;
  for (const std::string& name : names_in(folder_of(pid_) + "/task", failed)) {
    int thread = 0;
    if (std::from_chars(name.data(), name.data() + name.size(), thread).ec == std::errc()) threads.push_back(thread);
  }
  std::ranges::sort(threads);
  return threads;
}

bool Process::is_ended_by(int signal) const {
  // signal(7): these stop it, let it go on or do nothing; all others end it.
  constexpr std::array others{SIGCHLD, SIGCONT, SIGURG, SIGWINCH, SIGSTOP, SIGTSTP, SIGTTIN, SIGTTOU};
  if (signal <= 0 || std::ranges::find(others, signal) != others.end()) return false;
  return !handles(signal) && !has_signal(folder_of(pid_), "SigIgn:", signal);
}

bool Process::handles(int signal) const {
  return has_signal(folder_of(pid_), "SigCgt:", signal);
}

/// One that has ended and is still there has no memory any more. What has none at all is left to others to say.
int Process::find_living_thread() const {
  for (const int thread : threads()) {
    if (std::ifstream(folder_of(thread) + "/maps").peek() != std::ifstream::traits_type::eof()) return thread;
  }
  return pid_;
}

walk::AddressSpace Process::address_space() {
  living_thread_ = find_living_thread();
  return {executable_mappings_of(living_thread_), [this](const walk::Mapping& mapping) {
            // The same path may be another file by now; its mappings are elsewhere then.
            const std::string key = mapping.path + "\n" + hex(mapping.begin) + " " + hex(mapping.file_offset);
            return files_.get(key, [&] { return open(mapping); });
          }};
}

walk::OpenedFile Process::open(const walk::Mapping& mapping) {
  if (mapping.path == "[vdso]") {
    std::vector<std::byte> bytes = read(mapping.begin, mapping.end - mapping.begin);
    elf::Image image = elf::Image::of_bytes(bytes, mapping.path);
    return {std::make_shared<walk::CodeFile>(std::move(image), std::move(bytes), options_, system_), {}};
  }
  if (mapping.is_of_no_file()) {
    const NamedFile map{
        .path = walk::perf_map_path(number_in_container()), .process = living_thread_, .may_be_link = false};
    return {nullptr, walk::is_of_no_file,
            perf_maps_.of(pid_, map.path, [this, map] { return system_.open_file(map, {}); })};
  }
  // The kernel's own link leads to the file whatever has become of its name, but is not for everybody.
  const NamedFile by_place{.path = {}, .process = living_thread_, .begin = mapping.begin, .end = mapping.end};
  const NamedFile by_name{.path = mapping.path, .process = living_thread_};
  std::string why_not = "cannot be opened any more";
  for (const NamedFile* named : {&by_place, &by_name}) {
    const auto opened = system_.open_file(*named, {.user = 0, .name = std::to_string(mapping.device)});
    if (opened->error == OpenFile::no_answer) why_not = "its file system does not answer";
    if (opened->error != 0) continue;
    elf::Image image = elf::Image::open(opened->file.number(), printable(mapping.path));
    if (named == &by_name && !is_mapped(image, opened->status, mapping, *this))
      return {nullptr, "not the file that was loaded"};
    return {std::make_shared<walk::CodeFile>(std::move(image), std::vector<std::byte>(), options_, system_), {}};
  }
  return {nullptr, std::move(why_not)};
}

/// The number that the process itself knows: the last of "NStgid:	4711	1".
int Process::number_in_container() const {
  std::ifstream status(folder_of(living_thread_) + "/status");
  for (std::string line; std::getline(status, line);) {
    if (!line.starts_with("NStgid:")) continue;
    const std::size_t last = line.find_last_of("\t ") + 1;
    int number = 0;
    std::from_chars(line.data() + last, line.data() + line.size(), number);
    return number;
  }
  return pid_;
}

std::vector<std::byte> Process::read(std::uint64_t address, std::uint64_t size) const {
  std::vector<std::byte> bytes(size);
  iovec here{bytes.data(), bytes.size()};
  iovec there{reinterpret_cast<void*>(address), bytes.size()};  // NOLINT(performance-no-int-to-ptr): another process's
  ::alarm(1);
  const ssize_t count = ::process_vm_readv(living_thread_, &here, 1, &there, 1, 0);
  ::alarm(0);
  bytes.resize(count > 0 ? static_cast<std::size_t>(count) : 0);
  return bytes;
}

bool Process::read_word(void* context, std::uint64_t address, void* bytes) {
  constexpr std::size_t size = 8;
  auto& process = *static_cast<Process*>(context);
  const std::uint64_t page = address / page_size * page_size;
  if (address > page + page_size - size) {
    const std::vector<std::byte> word = process.read(address, size);
    if (word.size() == size) std::memcpy(bytes, word.data(), size);
    return word.size() == size;
  }
  if (process.page_ != page) {
    process.page_bytes_ = process.read(page, page_size);
    process.page_ = page;
  }
  if (process.page_bytes_.size() != page_size) return false;
  std::memcpy(bytes, process.page_bytes_.data() + (address - page), size);
  return true;
}

}  // namespace sframe_gen::trace::live
