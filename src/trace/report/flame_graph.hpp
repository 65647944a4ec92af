#pragma once

#include <cstdint>
#include <map>
#include <ostream>
#include <string>

#include "trace/recorded/kernel_names.hpp"
#include "trace/recorded/recording.hpp"

namespace sframe_gen::trace {

/// Samples with the same frames counted together, in the form that flame graphs are made of:
/// "bash;main;read;copy_[i];vfs_read_[k] 12". _[k] marks the kernel's functions, _[i] inlined calls.
class FoldedStacks {
 public:
  void add(KernelNames& kernel, const Sample& sample);
  /// Thread name and functions from the outermost one, and how often; in order of their text.
  const std::map<std::string, std::uint64_t>& counts() const { return counts_; }
  void write(std::ostream& out) const;

 private:
  std::map<std::string, std::uint64_t> counts_;
};

/// One SVG file that a browser shows by itself: a rectangle for each function called from the one below it, as wide as
/// its share of the samples. A click widens a part, Ctrl-F searches. The script in it draws what is wide enough to be
/// seen, so the number of stacks does not matter. Without a script, as in a page's picture, the widest 4,000 rectangles
/// are seen. `title`: what was sampled.
void write_flame_graph(std::ostream& out, const FoldedStacks& stacks, const std::string& title);

}  // namespace sframe_gen::trace
