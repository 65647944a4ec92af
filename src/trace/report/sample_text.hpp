#pragma once

#include <cstdint>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "trace/recorded/kernel_names.hpp"
#include "trace/recorded/recording.hpp"
#include "trace/report/named_frame.hpp"

namespace sframe_gen::trace {

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
