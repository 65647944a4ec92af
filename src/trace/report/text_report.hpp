#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <ostream>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "trace/recorded/kernel_names.hpp"
#include "trace/recorded/recording.hpp"
#include "trace/walk/source_names.hpp"
#include "trace/walk/stack.hpp"
#include "trace/walk/stack_end.hpp"

namespace sframe_gen::trace::report {

/// A frame in words, which are those of its location.
struct NamedFrame {
  std::uint64_t pc = 0;
  std::string_view function;  ///< empty: unknown
  std::string_view symbol{};  ///< that its name was made of; empty: of none
  std::uint64_t offset = 0;   ///< of the PC from the function's begin
  std::string_view file;      ///< path, "[vdso]"; empty: in no file
  std::uint64_t address = 0;  ///< in the file: virtual, or an offset where the file cannot be had
  /// Calls that were inlined into the function there, the innermost first. They are valid until the file's next frame
  /// is named.
  std::span<const walk::InlinedCall> inlined{};
  walk::SourceLine place{};  ///< in the function; in what is executed if inlined calls are not wanted
};

NamedFrame named(const walk::Frame& frame);

/// "[388 frames left out]" of what stands for them, or "[frames left out]" if it is not known how many.
std::string text_of_left_out(const walk::Frame& frame);

/// "libc.so.6" of a path.
std::string_view short_name(std::string_view file);

/// Samples as `perf script` prints them: "bash 4711 12.345678:     1001001 cpu-clock:" with the period before the
/// event, and "    7f3c5a0d1c5a read+0x1a (/lib/libc.so.6)" for each frame. Calls that were inlined into it come first:
/// "    7f3c5a0d1c5a copy (inlined)". "  /src/io.c:12" follows if source lines are wanted. Why a stack is cut is a
/// comment, which programs that read this form pass over. Most frames come again, so that their lines are remembered.
class SampleText {
 public:
  /// Both have to live on.
  SampleText(std::ostream& out, recorded::KernelNames& kernel);
  /// What there is before a damaged record is worth having.
  ~SampleText() { finish(); }
  SampleText(const SampleText&) = delete;
  SampleText& operator=(const SampleText&) = delete;

  void add(const recorded::Sample& sample, const recorded::SampledEvent& event,
           const std::optional<walk::StackEnd>& cut);
  /// Writes what is not written yet.
  void finish();

 private:
  struct Line {
    walk::Frame frame;  ///< its location is null: there is none
    std::string text;
  };

  void add_head(const recorded::Sample& sample, const recorded::SampledEvent& event);
  void add_kernel_frame(std::uint64_t pc);
  void add_frame(const walk::Frame& frame);
  Line& line_for(const walk::Frame& frame);

  std::ostream& out_;
  recorded::KernelNames& kernel_;
  std::string text_;          ///< not written yet
  std::vector<Line> lines_;   ///< each at the one place that its PC leads to
  walk::Location in_kernel_;  ///< stands for it: it is in all address spaces
};

// Stacks of processes, as people know them from pstack and eu-stack.

/// "PID 4711 - bash"
void write_process(std::ostream& out, int pid, const std::string& name);
/// "TID 4711 - bash (signal 11)"
void write_thread(std::ostream& out, int thread, const std::string& name, int signal);
/// "#0  0x00007f3c5a0d1c5a read+0x1a - /lib/libc.so.6+0xd1c5a" for each frame, and what cut the stack. Inlined calls
/// are counted as frames.
void write_stack(std::ostream& out, const walk::Stack& stack, const std::optional<walk::StackEnd>& cut);

/// What a run came to: how many stacks are whole, and what ended the others, by file and reason.
class StackTotals {
 public:
  /// `cut`: of `stack`, if it is not whole.
  void add(const walk::Stack& stack, const std::optional<walk::StackEnd>& cut);
  /// A thread that had no stack to walk.
  void add_missing(const std::string& reason);

  std::uint64_t stacks() const { return stacks_; }
  std::uint64_t whole() const { return whole_; }
  /// Of recorded call chains.
  std::uint64_t as_recorded() const { return as_recorded_; }
  /// From what DWARF says.
  std::uint64_t different() const { return different_; }

  /// "12 stacks, 96 frames (34 by frame pointers, 20 from earlier samples); 11 whole", and a line for each reason, the
  /// most frequent first; the same of a comparison.
  void write(std::ostream& out) const;

 private:
  using Counts = std::map<std::string, std::uint64_t>;
  void add_call_chain(const walk::Stack& stack);
  Counts unnamed() const;
  static void write_counts(std::ostream& out, const Counts& counts, const char* what);
  void write_comparison(std::ostream& out) const;

  std::uint64_t stacks_ = 0, frames_ = 0, by_frame_pointer_ = 0, by_code_ = 0, from_earlier_sample_ = 0, whole_ = 0,
                as_recorded_ = 0;
  bool has_java_ = false, has_cut_in_no_file_ = false;
  Counts cuts_;                                             ///< by text_of()
  std::map<const walk::Location*, std::uint64_t> unnamed_;  ///< frames of call chains in files that cannot be had
  std::uint64_t compared_ = 0, different_ = 0, equal_ = 0;
  Counts dwarf_cuts_;
};

}  // namespace sframe_gen::trace::report
