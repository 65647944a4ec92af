#include "code/step/stepped_thread.hpp"

#include <dirent.h>
#include <elf.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <sstream>
#include <thread>

#include "sframe_gen/error.hpp"

namespace sframe_gen::stepping {

namespace {

constexpr long trace_options = PTRACE_O_TRACEEXEC;

/// Processes that come from this one.
std::set<int> descendants() {
  std::set<int> found{::getpid()};
  bool grows = true;
  while (grows) {
    grows = false;
    for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
      const int process = std::atoi(entry.path().filename().c_str());
      if (process == 0 || found.contains(process)) continue;
      std::ifstream file(entry.path() / "stat");
      std::string line;
      std::getline(file, line);
      // The name before it may hold anything but ends with the last parenthesis.
      const auto end = line.rfind(')');
      if (end == std::string::npos) continue;
      std::istringstream rest(line.substr(end + 1));
      char state = 0;
      int parent = 0;
      rest >> state >> parent;
      if (found.contains(parent)) grows = found.insert(process).second || grows;
    }
  }
  found.erase(::getpid());
  return found;
}

std::string command_line_of(int process) {
  std::ifstream file("/proc/" + std::to_string(process) + "/cmdline", std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::string name_of_thread(const std::filesystem::path& task) {
  std::ifstream file(task / "comm");
  std::string name;
  std::getline(file, name);
  return name;
}

/// Nanoseconds on a processor.
std::uint64_t time_of_thread(const std::filesystem::path& task) {
  std::ifstream file(task / "schedstat");
  std::uint64_t time = 0;
  file >> time;
  return time;
}

}  // namespace

std::optional<std::uint64_t> value_of(const Registers& registers, std::uint32_t dwarf_number) {
  switch (dwarf_number) {
    case 0:
      return registers.rax;
    case 1:
      return registers.rdx;
    case 2:
      return registers.rcx;
    case 3:
      return registers.rbx;
    case 4:
      return registers.rsi;
    case 5:
      return registers.rdi;
    case 6:
      return registers.rbp;
    case 7:
      return registers.rsp;
    case 8:
      return registers.r8;
    case 9:
      return registers.r9;
    case 10:
      return registers.r10;
    case 11:
      return registers.r11;
    case 12:
      return registers.r12;
    case 13:
      return registers.r13;
    case 14:
      return registers.r14;
    case 15:
      return registers.r15;
    case 16:
      return registers.rip;
    default:
      return std::nullopt;
  }
}

SteppedThread SteppedThread::of_command(char** command) {
  const int child = ::fork();
  if (child < 0) throw SystemFailure(command[0], "start", errno);
  if (child == 0) {
    ::dup2(STDERR_FILENO, STDOUT_FILENO);
    ::raise(SIGSTOP);
    ::execvp(command[0], command);
    ::_exit(127);
  }
  SteppedThread thread(child, child);
  int status = 0;
  if (::waitpid(child, &status, WUNTRACED) != child || !WIFSTOPPED(status)) throw Failure("no child to step");
  if (::ptrace(PTRACE_SEIZE, child, nullptr, trace_options | PTRACE_O_EXITKILL) != 0)
    throw SystemFailure(command[0], "trace", errno);
  ::kill(child, SIGCONT);
  Event event = Event::None;
  do {  // the end of the stop that it was in, then the new program
    event = thread.wait();
    thread.signal_ = 0;
    if (event == Event::None || event == Event::Signal) thread.resume(PTRACE_CONT);
  } while (event == Event::None || event == Event::Signal);
  if (event == Event::Ended) throw Failure(std::string(command[0]) + " cannot be run");
  return thread;
}

std::optional<SteppedThread> SteppedThread::with_name(const std::string& name, const std::string& command_line) {
  std::optional<SteppedThread> busiest;
  std::uint64_t longest = 0;
  for (const int process : descendants()) {
    if (command_line_of(process).find(command_line) == std::string::npos) continue;
    std::error_code gone;
    for (const auto& task : std::filesystem::directory_iterator("/proc/" + std::to_string(process) + "/task", gone)) {
      if (name_of_thread(task.path()) != name) continue;
      const std::uint64_t time = time_of_thread(task.path());
      if (busiest && time <= longest) continue;
      busiest = SteppedThread(process, std::atoi(task.path().filename().c_str()));
      longest = time;
    }
  }
  if (!busiest || ::ptrace(PTRACE_SEIZE, busiest->thread_, nullptr, trace_options | PTRACE_O_EXITKILL) != 0)
    return std::nullopt;
  ::ptrace(PTRACE_INTERRUPT, busiest->thread_, nullptr, nullptr);
  busiest->wait();
  return busiest;
}

void SteppedThread::resume(int request) {
  ::ptrace(static_cast<__ptrace_request>(request), thread_, nullptr, static_cast<long>(signal_));
  signal_ = 0;
}

SteppedThread::Event SteppedThread::wait() {
  int result = 0;
  do result = ::waitpid(thread_, &status_, __WALL);
  while (result < 0 && errno == EINTR);
  if (result != thread_ || !WIFSTOPPED(status_) || ::ptrace(PTRACE_GETREGS, thread_, nullptr, &registers_) != 0) {
    has_ended_ = true;
    return Event::Ended;
  }
  const int event = status_ >> 16U;
  if (event == PTRACE_EVENT_EXEC) return Event::Exec;
  if (event != 0 || WSTOPSIG(status_) == SIGTRAP) return Event::None;
  signal_ = WSTOPSIG(status_);
  return Event::Signal;
}

SteppedThread::Event SteppedThread::step() {
  resume(PTRACE_SINGLESTEP);
  return wait();
}

std::uint64_t SteppedThread::entry_point() const {
  std::ifstream file("/proc/" + std::to_string(process_) + "/auxv", std::ios::binary);
  std::array<std::uint64_t, 2> entry{};
  while (file.read(reinterpret_cast<char*>(entry.data()), sizeof entry))
    if (entry[0] == AT_ENTRY) return entry[1];
  throw Failure("no entry point in /proc/" + std::to_string(process_) + "/auxv");
}

void SteppedThread::run_to_entry() {
  constexpr std::uint64_t breakpoint = 0xcc;
  const std::uint64_t entry = entry_point();
  if (registers_.rip == entry) return;
  const auto code = word(entry);
  if (!code) throw Failure("cannot read the code at the entry point");
  const auto write = [&](std::uint64_t value) { ::ptrace(PTRACE_POKETEXT, thread_, entry, value); };
  write((*code & ~std::uint64_t{0xff}) | breakpoint);
  // A step over execve() stops once more afterwards.
  do {
    resume(PTRACE_CONT);
    wait();
  } while (!has_ended_ && registers_.rip != entry + 1);
  if (has_ended_) return;
  write(*code);
  registers_.rip = entry;
  ::ptrace(PTRACE_SETREGS, thread_, nullptr, &registers_);
}

SteppedThread::Event SteppedThread::run_for(std::chrono::microseconds time) {
  resume(PTRACE_CONT);
  std::this_thread::sleep_for(time);
  ::ptrace(PTRACE_INTERRUPT, thread_, nullptr, nullptr);
  while (true) {
    const Event event = wait();
    if (event == Event::Ended || event == Event::Exec) return event;
    if (event == Event::None && status_ >> 16U == PTRACE_EVENT_STOP) return event;
    resume(PTRACE_CONT);
  }
}

bool SteppedThread::read(std::uint64_t address, std::span<std::byte> bytes) const {
  const iovec here{bytes.data(), bytes.size()};
  const iovec there{reinterpret_cast<void*>(address), bytes.size()};
  return ::process_vm_readv(process_, &here, 1, &there, 1, 0) == static_cast<ssize_t>(bytes.size());
}

std::optional<std::uint64_t> SteppedThread::word(std::uint64_t address) const {
  std::uint64_t value = 0;
  if (!read(address, std::as_writable_bytes(std::span(&value, 1)))) return std::nullopt;
  return value;
}

}  // namespace sframe_gen::stepping
