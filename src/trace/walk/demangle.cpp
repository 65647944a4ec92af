#include "trace/walk/demangle.hpp"

#include <fcntl.h>
#include <libiberty/demangle.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <utility>

#include "support/text.hpp"

namespace sframe_gen::trace::walk {

namespace {

/// Names repeat their parts by number, so that ten letters may double the text: real ones have a few kilobytes at most.
constexpr std::size_t longest_demangled = std::size_t{64} << 10U;

struct TooLong {};

/// A demangle_callbackref. The exception goes through C functions that have nothing to tidy up.
void append(const char* text, std::size_t size, void* name) {
  auto& whole = *static_cast<std::string*>(name);
  if (size > longest_demangled - whole.size()) throw TooLong{};
  whole.append(text, size);
}

std::string demangled_here(const std::string& symbol) {
  constexpr int style = DMGL_AUTO | DMGL_PARAMS | DMGL_ANSI;
  try {
    std::string name;
    if (rust_demangle_callback(symbol.c_str(), style, append, &name) != 0) return name;
    name.clear();
    if (cplus_demangle_v3_callback(symbol.c_str(), style, append, &name) != 0) return name;
  } catch (const TooLong&) {
    // As it is, then.
  }
  return symbol;
}

/// Whether libiberty is sure to be quick. Its time may double with each part that a name repeats by number: C++ types
/// (S0_) in a pack (Dp, its d_find_pack), template arguments (T_I) of a conversion operator, which it parses twice, and
/// arguments in scopes that print nothing. Each number ends with an underscore. With 12 of them no name took a
/// millisecond in a search for slow ones. Rust's "for<'a, 'b>" is a count (G), of up to 2^64.
bool is_surely_quick(std::string_view symbol) {
  constexpr std::size_t long_name = 4096;
  constexpr std::ptrdiff_t many_numbers = 12;
  if (symbol.size() > long_name || std::ranges::count(symbol.substr(2), '_') > many_numbers) return false;
  return !symbol.starts_with("_R") || symbol.find('G') == std::string_view::npos;
}

/// The signal of the timer ends the process. 0: stops the timer.
void allow_time(int ms) {
  constexpr int us_in_ms = 1000;
  const itimerval time{{0, 0}, {0, suseconds_t{ms} * us_in_ms}};
  ::setitimer(ITIMER_PROF, &time, nullptr);
}

[[noreturn]] void answer_names(int socket) {
  ::signal(SIGPROF, SIG_DFL);
  sigset_t ending;
  ::sigemptyset(&ending);
  ::sigaddset(&ending, SIGPROF);
  ::sigprocmask(SIG_UNBLOCK, &ending, nullptr);
  std::string room(longest_demangled, '\0');
  for (;;) {
    const ssize_t size = ::recv(socket, room.data(), room.size(), 0);
    if (size < 0 && errno == EINTR) continue;
    if (size <= 0) ::_exit(0);
    allow_time(Demangler::most_time_ms);
    const std::string name = demangled_here(room.substr(0, static_cast<std::size_t>(size)));
    allow_time(0);
    if (::send(socket, name.data(), name.size(), MSG_NOSIGNAL) < 0) ::_exit(0);
  }
}

}  // namespace

std::string Demangler::demangled(const std::string& symbol) {
  if (symbol.size() > longest_demangled || slow_names_ == most_slow_names) return symbol;
  if (!ours_.is_open() && !start()) return symbol;
  answer_.resize(longest_demangled);
  ssize_t size = ::send(ours_.number(), symbol.data(), symbol.size(), MSG_NOSIGNAL);
  if (size > 0) {
    do size = ::recv(ours_.number(), answer_.data(), answer_.size(), 0);
    while (size < 0 && errno == EINTR);
  }
  if (size > 0) return answer_.substr(0, static_cast<std::size_t>(size));
  stop();
  ++slow_names_;
  return symbol;
}

bool Demangler::start() {
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) != 0) return false;
  const Descriptor first(ends[0]), theirs(ends[1]);
  // None of the standard streams, which this process may have been started without: what it prints is no name.
  Descriptor ours(::fcntl(  // NOLINT(cppcoreguidelines-pro-type-vararg)
      first.number(), F_DUPFD_CLOEXEC, STDERR_FILENO + 1));
  process_ = ours.is_open() ? ::fork() : -1;
  if (process_ < 0) return false;
  if (process_ == 0) {
    // As long as it has these, it does not notice that the other one is gone.
    ::close(first.number());
    ours.close();
    answer_names(theirs.number());
  }
  ours_ = std::move(ours);
  return true;
}

/// Waits for the process: sframe-trace waits for any child while it traces a command, and must not find this one.
void Demangler::stop() {
  if (!ours_.is_open()) return;
  ours_.close();
  while (::waitpid(process_, nullptr, __WALL) < 0 && errno == EINTR) {
  }
}

std::string demangled(const std::string& symbol) {
  // No symbol that a compiler made begins otherwise: C++ _Z, Rust _R or _Z.
  if (symbol.size() < 3 || symbol[0] != '_') return symbol;
  if (is_surely_quick(symbol)) return demangled_here(symbol);
  static Demangler demangler;
  return demangler.demangled(symbol);
}

std::string name_for_people(const std::string& symbol) {
  // Control characters become four letters each.
  return shortened(printable(shortened(demangled(symbol), longest_name)), longest_name);
}

Demangled demangled_for_people(const std::string& symbol) {
  Demangled made{name_for_people(symbol), {}};
  if (made.name != symbol && symbol.size() <= longest_name) made.symbol = printable(symbol);
  return made;
}

namespace {

constexpr std::string_view no_name = "(anonymous namespace)", decltype_word = "decltype", operator_word = "operator";

bool is_of_word(char letter) {
  return letter == '_' || (letter >= '0' && letter <= '9') || (letter >= 'a' && letter <= 'z') ||
         (letter >= 'A' && letter <= 'Z');
}

/// Whether the word `operator` is at `place`: brackets after it belong to the name.
bool has_operator_at(std::string_view name, std::size_t place) {
  if (!name.substr(place).starts_with(operator_word)) return false;
  const std::size_t after = place + operator_word.size();
  return (place == 0 || !is_of_word(name[place - 1])) && (after == name.size() || !is_of_word(name[after]));
}

/// Whether the parenthesis at `place` is part of a type, and not the begin of the parameters.
bool is_in_type(std::string_view name, std::size_t place) {
  std::string_view before = name.substr(0, place);
  if (before.ends_with(' ')) before.remove_suffix(1);
  return before.ends_with(decltype_word);
}

}  // namespace

std::size_t begin_of_own_name(std::string_view name) {
  std::size_t begin = 0, angles = 0, others = 0;
  for (std::size_t i = 0; i < name.size(); ++i) {
    const char letter = name[i];
    if (letter == ')' || letter == ']' || letter == '}') {
      if (others > 0) --others;
    } else if (others > 0) {
      if (letter == '(' || letter == '[' || letter == '{') ++others;
    } else if (letter == '<') {
      ++angles;
    } else if (letter == '>' && angles > 0) {
      --angles;
    } else if (name.substr(i).starts_with(no_name)) {
      i += no_name.size() - 1;
    } else if (angles == 0 && letter == '(' && !is_in_type(name, i)) {
      // Only templates have the type that they return in their names.
      return i > 0 && (name[i - 1] == '>' || name[i - 1] == ']') ? begin : 0;
    } else if (letter == '(' || letter == '[' || letter == '{') {
      ++others;
    } else if (angles == 0 && has_operator_at(name, i)) {
      return begin;
    } else if (angles == 0 && letter == ' ') {
      begin = i + 1;
    }
  }
  return 0;
}

std::string short_label(std::string_view name) {
  constexpr std::string_view replacement = "(anon)";
  std::string label(name.substr(begin_of_own_name(name)));
  for (std::size_t at = 0; (at = label.find(no_name, at)) != std::string::npos; at += replacement.size())
    label.replace(at, no_name.size(), replacement);
  return label;
}

}  // namespace sframe_gen::trace::walk
