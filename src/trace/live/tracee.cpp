#include "trace/live/tracee.hpp"

#include <elf.h>
#include <sys/uio.h>

#include <cstddef>
#include <fstream>
#include <span>
#include <string>
#include <vector>

#include "trace/walk/thread_registers.hpp"

namespace sframe_gen::trace {

namespace {

/// One set of a stopped thread's registers; empty where there is none.
std::vector<std::byte> register_set(int thread, std::uintptr_t set) {
  std::vector<std::byte> bytes(1024);
  iovec room{bytes.data(), bytes.size()};
  if (ask_ptrace(PTRACE_GETREGSET, thread, set, reinterpret_cast<std::uintptr_t>(&room)) != 0) return {};
  bytes.resize(room.iov_len);
  return bytes;
}

}  // namespace

long ask_ptrace(__ptrace_request request, int thread, std::uintptr_t address, std::uintptr_t data) {
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-vararg,performance-no-int-to-ptr): as ptrace(2) wants it
  return ::ptrace(request, thread, reinterpret_cast<void*>(address), reinterpret_cast<void*>(data));
}

std::optional<unwind::Registers> registers_of(int thread) {
  auto registers = general_registers(host_abi(), register_set(thread, NT_PRSTATUS));
  if (registers && host_abi() == sframe::Abi::S390x) {
    add_floating_point_registers(host_abi(), register_set(thread, NT_PRFPREG), *registers);
  }
  // Of other stops there is none, or one that says what they are.
  if (const auto signal = signal_of(thread); registers && signal) {
    add_signal(host_abi(), std::as_bytes(std::span(&*signal, 1)), *registers);
  }
  return registers;
}

std::optional<siginfo_t> signal_of(int thread) {
  siginfo_t signal{};
  if (ask_ptrace(PTRACE_GETSIGINFO, thread, 0, reinterpret_cast<std::uintptr_t>(&signal)) != 0) return std::nullopt;
  return signal;
}

bool is_zombie(int thread) {
  std::ifstream file("/proc/" + std::to_string(thread) + "/stat");
  std::string line;
  std::getline(file, line);
  // A name may have any characters in it.
  return line.find(") Z ", line.rfind(')')) != std::string::npos;
}

int event_of(int status) {
  constexpr unsigned event_shift = 16;
  return static_cast<int>(static_cast<unsigned>(status) >> event_shift);
}

}  // namespace sframe_gen::trace
