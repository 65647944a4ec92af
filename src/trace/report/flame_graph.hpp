#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <ostream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "support/hash.hpp"
#include "trace/recorded/kernel_names.hpp"
#include "trace/recorded/recording.hpp"
#include "trace/report/weight.hpp"

namespace sframe_gen::trace::report {

/// Samples with the same frames counted together, in the form that flame graphs are made of:
/// "bash;main;read;copy_[i];vfs_read_[k] 12". _[k] marks the kernel's functions, _[i] inlined calls.
class FoldedStacks {
 public:
  using Id = std::uint32_t;  ///< of a name
  /// Thread name and functions from the outermost one.
  using Stack = std::vector<Id>;
  using Counted = std::pair<const Stack, Weight>;

  void add(recorded::KernelNames& kernel, const recorded::Sample& sample);
  /// UTF-8, without the form's own marks, and not long.
  const std::string& name(Id id) const { return *names_[id]; }
  std::size_t name_count() const { return names_.size(); }
  /// The stacks and how often, in an order in which those with the same outermost functions stand together.
  std::vector<const Counted*> by_names() const;
  /// All samples.
  const TotalWeight& sum() const { return sum_; }
  /// In order of their text, with the number of samples or the sum of their periods.
  void write(std::ostream& out, bool has_periods) const;

 private:
  void add_name(std::string_view name, std::string_view mark = {});
  void add_frame(const walk::Frame& frame);
  std::vector<const Counted*> ordered(char between_names) const;

  SeededMap<std::string, Id> ids_;
  std::vector<const std::string*> names_;
  std::map<Stack, Weight> counts_;
  TotalWeight sum_;
  Stack stack_;  ///< its room is used again
};

/// One SVG file that a browser shows by itself: a rectangle for each function under the one that called it, as wide as
/// its share of the samples. A click widens a part, Ctrl-F searches. The script in it draws what is wide enough to be
/// seen, so the number of stacks does not matter. Without a script, as in a page's picture, the widest 4,000 rectangles
/// are seen. Widths are those of periods where these differ.
struct FlameGraphStyle {
  std::string title;             ///< what was sampled
  std::string unit;              ///< of periods
  bool has_roots_below = false;  ///< callers are under what they call
};
void write_flame_graph(std::ostream& out, const FoldedStacks& stacks, const FlameGraphStyle& style);

}  // namespace sframe_gen::trace::report
