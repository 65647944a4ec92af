#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "trace/recorded/kernel_names.hpp"
#include "trace/recorded/recording.hpp"
#include "trace/walk/stack.hpp"

namespace sframe_gen::trace {

/// A frame in words, which are those of its location.
struct NamedFrame {
  std::uint64_t pc = 0;
  std::string_view function;  ///< empty: unknown
  std::uint64_t offset = 0;   ///< of the PC from the function's begin
  std::string_view file;      ///< path, "[vdso]"; empty: in no file
  std::uint64_t address = 0;  ///< in the file: virtual, or an offset where the file cannot be had
};

NamedFrame named(const Frame& frame);

/// "libc.so.6" of a path.
std::string_view short_name(std::string_view file);

/// Why a stack ends before its outermost frame.
struct Cut {
  std::string file;    ///< that the last frame is in; empty: in none
  std::string reason;  ///< "no row"
  std::string place;   ///< "0x1c2f", the address in the file of what the reason is about
};

/// "/usr/bin/bash: no row", without the place. Some reasons are messages, which name the file themselves.
std::string text_of(const Cut& cut);

/// None: the stack is whole.
std::optional<Cut> cut_of(const Stack& stack);

}  // namespace sframe_gen::trace

/// Many pieces go into one string faster than into a stream.
namespace sframe_gen::trace {

inline constexpr std::size_t address_digits = 16;

/// In so many digits at least, with what fills up in front of them.
void append_hex(std::string& text, std::uint64_t value, std::size_t digits, char fill);
void append_decimal(std::string& text, std::uint64_t value, std::size_t digits = 1, char fill = '0');

/// "read+0x1a", or else what stands for it.
void append_function(std::string& text, const NamedFrame& named, const char* unknown);
/// "+0x1a"
void append_offset(std::string& text, std::uint64_t offset);

/// Samples as `perf script` prints them: "bash 4711 12.345678:", and "    7f3c5a0d1c5a read+0x1a (/lib/libc.so.6)" for
/// each frame. Most frames come again, so that their lines are remembered.
class SampleText {
 public:
  /// Both have to live on.
  SampleText(std::ostream& out, KernelNames& kernel);
  /// What there is before a damaged record is worth having.
  ~SampleText() { finish(); }
  SampleText(const SampleText&) = delete;
  SampleText& operator=(const SampleText&) = delete;

  void add(const Sample& sample, const std::optional<Cut>& cut);
  /// Writes what is not written yet.
  void finish();

 private:
  struct Line {
    Frame frame;  ///< its location is null: there is none
    std::string text;
  };

  void add_head(const Sample& sample);
  void add_kernel_frame(std::uint64_t pc);
  void add_frame(const Frame& frame);
  Line& line_for(const Frame& frame);

  std::ostream& out_;
  KernelNames& kernel_;
  std::string text_;         ///< not written yet
  std::vector<Line> lines_;  ///< each at the one place that its PC leads to
  Location in_kernel_;       ///< stands for it: it is in all address spaces
};

}  // namespace sframe_gen::trace

/// Stacks of processes, as people know them from pstack and eu-stack.
namespace sframe_gen::trace {

/// "PID 4711 - bash"
void write_process(std::ostream& out, int pid, const std::string& name);
/// "TID 4711 - bash (signal 11)"
void write_thread(std::ostream& out, int thread, const std::string& name, int signal);
/// "#0  0x00007f3c5a0d1c5a read+0x1a - /lib/libc.so.6+0xd1c5a" for each frame, and what cut the stack.
void write_stack(std::ostream& out, const Stack& stack, const std::optional<Cut>& cut);

/// What cut the stack, and where DWARF leads elsewhere.
void write_end(std::ostream& out, const Stack& stack, const std::optional<Cut>& cut);

}  // namespace sframe_gen::trace
