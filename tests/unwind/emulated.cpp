#include "emulated.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <numeric>
#include <thread>
#include <vector>

#include "sframe_gen/error.hpp"

namespace sframe_gen::unwind {

namespace {

using namespace std::chrono_literals;

// Numbers that gdb gives to signals.
constexpr int trap = 5, user_1 = 30;
constexpr int poll_milliseconds = 60'000;

std::uint64_t number_at(const std::string& digits, std::size_t place, bool big_endian) {
  constexpr std::size_t size = 8;
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < size; ++i) {
    const std::size_t byte = big_endian ? i : size - 1 - i;
    value = value << 8U | std::stoul(digits.substr(2 * (size * place + byte), 2), nullptr, 16);
  }
  return value;
}

std::string in_hexadecimal(unsigned number) {
  std::array<char, 9> text{};
  std::snprintf(text.data(), text.size(), "%02x", number);
  return text.data();
}

}  // namespace

Emulated::Emulated(Machine machine, char** command, const std::string& socket) : machine_(machine) {
  start(command, socket);
  connect(socket);
  // Single registers are only for debuggers that know which there are.
  ask("qXfer:features:read:target.xml:0,ffb");
}

Emulated::~Emulated() {
  ::close(connection_);
  ::kill(pid_, SIGKILL);
  ::waitpid(pid_, nullptr, 0);
}

void Emulated::start(char** command, const std::string& socket) {
  std::string option = "-g", name = socket;
  std::vector<char*> arguments{command[0], option.data(), name.data()};
  while (*++command != nullptr) arguments.push_back(*command);
  arguments.push_back(nullptr);
  pid_ = ::fork();
  if (pid_ < 0) throw SystemFailure(arguments[0], "start", errno);
  if (pid_ != 0) return;
  // What it prints would stand between what is printed about it.
  const int nothing = ::open("/dev/null", O_WRONLY | O_CLOEXEC);  // NOLINT(cppcoreguidelines-pro-type-vararg)
  ::dup2(nothing, STDOUT_FILENO);
  ::execvp(arguments[0], arguments.data());
  ::_exit(127);
}

/// The emulator waits for that before the first instruction.
void Emulated::connect(const std::string& socket) {
  sockaddr_un address{AF_UNIX, {}};
  if (socket.size() >= sizeof address.sun_path) throw Failure("the socket's name is too long");
  socket.copy(address.sun_path, socket.size());
  connection_ = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const auto deadline = std::chrono::steady_clock::now() + 60s;
  while (::connect(connection_, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    if (std::chrono::steady_clock::now() > deadline) throw SystemFailure(socket, "connect", errno);
    std::this_thread::sleep_for(10ms);
  }
}

Registers Emulated::registers() {
  Registers registers;
  const std::string general = ask("g");
  if (machine_ == Machine::Aarch64) {  // x0 to x30, sp, pc
    constexpr std::uint32_t pc = 32;
    for (std::uint32_t i = 0; i < pc; ++i) registers.set(i, number_at(general, i, false));
    registers.pc = number_at(general, pc, false);
    return registers;
  }
  // The program status word, whose second half is the PC, and r0 to r15.
  constexpr std::uint32_t general_count = 16, first = 2;
  registers.pc = number_at(general, 1, true);
  for (std::uint32_t i = 0; i < general_count; ++i) registers.set(i, number_at(general, first + i, true));
  // qemu's number of f0 stands behind r15's, 16 access registers' and the floating-point control register's.
  constexpr unsigned first_floating = 35;
  constexpr std::array<unsigned, 16> floating_by_dwarf_number{0, 2, 4, 6, 1, 3, 5, 7, 8, 10, 12, 14, 9, 11, 13, 15};
  for (std::uint32_t i = 0; i < floating_by_dwarf_number.size(); ++i) {
    const std::string value = ask("p" + in_hexadecimal(first_floating + floating_by_dwarf_number[i]));
    registers.set(general_count + i, number_at(value, 0, true));
  }
  return registers;
}

/// Without the signal that ends it: the emulator asks its debugger first whether the program is to have that.
void Emulated::run_for(std::chrono::microseconds time) {
  send("c");
  std::this_thread::sleep_for(time);
  ::kill(pid_, SIGUSR1);
  take_stop(receive());
}

void Emulated::go_on(const char* how) {
  if (signal_ == 0) return take_stop(ask(how));
  take_stop(ask("vCont;S" + in_hexadecimal(static_cast<unsigned>(signal_))));
}

void Emulated::take_stop(const std::string& answer) {
  signal_ = 0;
  if (answer.size() < 3) throw Failure("the emulator's answer: " + answer);
  const int number = std::stoi(answer.substr(1, 2), nullptr, 16);
  if (answer[0] == 'W' || answer[0] == 'X') {
    has_ended_ = true;
    status_ = answer[0] == 'W' ? number : -number;
  } else if (answer[0] != 'T' && answer[0] != 'S') {
    throw Failure("the emulator's answer: " + answer);
  } else if (number != trap && number != user_1) {
    signal_ = number;
  }
}

std::string Emulated::ask(const std::string& text) {
  send(text);
  return receive();
}

void Emulated::send(const std::string& text) {
  const unsigned sum = std::accumulate(text.begin(), text.end(), 0U);
  const std::string packet = "$" + text + "#" + in_hexadecimal(sum % 256);
  if (::send(connection_, packet.data(), packet.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(packet.size()))
    throw SystemFailure("the emulator", "ask", errno);
}

std::string Emulated::receive() {
  std::string text;
  while (read() != '$') continue;
  for (char next = read(); next != '#'; next = read()) text += next;
  read();
  read();
  if (::send(connection_, "+", 1, MSG_NOSIGNAL) != 1) throw SystemFailure("the emulator", "answer", errno);
  return text;
}

char Emulated::read() {
  if (received_.empty()) {
    pollfd waiting{connection_, POLLIN, 0};
    std::array<char, 4096> bytes{};
    if (::poll(&waiting, 1, poll_milliseconds) != 1) throw Failure("the emulator does not answer");
    const ssize_t count = ::recv(connection_, bytes.data(), bytes.size(), 0);
    if (count <= 0) throw Failure("the emulator has ended");
    received_.assign(bytes.rend() - count, bytes.rend());
  }
  const char next = received_.back();
  received_.pop_back();
  return next;
}

}  // namespace sframe_gen::unwind
