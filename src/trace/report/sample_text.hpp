#pragma once

#include <cstddef>
#include <cstdint>
#include <future>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "trace/recorded/kernel_names.hpp"
#include "trace/recorded/recording.hpp"
#include "trace/report/named_frame.hpp"

namespace sframe_gen::trace {

/// Samples as `perf script` prints them: "bash 4711 12.345678:", and "    7f3c5a0d1c5a read+0x1a (/lib/libc.so.6)" for
/// each frame. Most frames come again, so that their lines are remembered. They are written while further ones are
/// made.
class SampleText {
 public:
  /// Both have to live on. Until finish(), nobody else may use `out`.
  SampleText(std::ostream& out, KernelNames& kernel);
  /// What there is before a damaged record is worth having.
  ~SampleText() { finish(); }
  SampleText(const SampleText&) = delete;
  SampleText& operator=(const SampleText&) = delete;

  void add(AddressSpace& space, const Sample& sample, const std::optional<Cut>& cut);
  /// What is not written yet; comes back when all is.
  void finish();

 private:
  struct Line {
    std::uint64_t version = 0;  ///< of the address space; 0: there is none
    Frame frame;
    std::string text;
  };

  void write_beside();
  void add_head(const Sample& sample);
  void add_kernel_frame(std::uint64_t pc);
  void add_frame(AddressSpace& space, const Frame& frame);
  Line& line_for(std::uint64_t version, const Frame& frame);

  std::ostream& out_;
  KernelNames& kernel_;
  std::string text_;         ///< not written yet
  std::vector<Line> lines_;  ///< each at the one place that its PC leads to
  std::string written_;      ///< by `writing_`
  std::future<void> writing_;
};

}  // namespace sframe_gen::trace
