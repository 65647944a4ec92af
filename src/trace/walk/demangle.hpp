#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "support/mapped_file.hpp"

namespace sframe_gen::trace::walk {

/// "std::vector<int>::at(unsigned long)" of a symbol that C++ or Rust made from it; any other symbol as it is, and also
/// one that costs too much time (Demangler) or makes more than 64 KiB of text. For one thread at a time.
std::string demangled(const std::string& symbol);

/// Demangles in a process of its own, which a timer ends if a name takes too long. For one thread at a time.
class Demangler {
 public:
  static constexpr int most_time_ms = 50;     ///< CPU time for a name; real ones take 0.2 ms at most
  static constexpr int most_slow_names = 10;  ///< half a second in all

  Demangler() = default;
  ~Demangler() { stop(); }
  Demangler(const Demangler&) = delete;
  Demangler& operator=(const Demangler&) = delete;

  /// Returns `symbol` if it takes too long, if `most_slow_names` did, or if no process can be started.
  std::string demangled(const std::string& symbol);

 private:
  bool start();
  void stop();

  Descriptor ours_;  ///< an end of a socket, where each message is a name
  int process_ = 0;
  int slow_names_ = 0;
  std::string answer_;
};

/// Returns the name of a function as it is shown: demangled, printable, and cut by shortened() if it is longer than
/// `longest_name`.
std::string name_for_people(const std::string& symbol);

/// The name of a function for people, and the symbol that it was made of: empty if they are the same, or if it is
/// longer than `longest_name`.
struct Demangled {
  std::string name, symbol;
};
Demangled demangled_for_people(const std::string& symbol);
inline constexpr std::size_t longest_name = 4096;

/// Returns where a function's own name begins in its demangled one: after the type that it returns, which the names of
/// templates begin with. 5 of "void std::sort<int*>(int*)".
std::size_t begin_of_own_name(std::string_view name);

/// Returns a name for little room: it begins with the function's own name, and has "(anon)" for namespaces without one.
std::string short_label(std::string_view name);

}  // namespace sframe_gen::trace::walk
