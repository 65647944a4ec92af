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

namespace sframe_gen::trace {

/// Samples with the same frames counted together, in the form that flame graphs are made of:
/// "bash;main;read;copy_[i];vfs_read_[k] 12". _[k] marks the kernel's functions, _[i] inlined calls.
class FoldedStacks {
 public:
  using Id = std::uint32_t;  ///< of a name
  /// Thread name and functions from the outermost one.
  using Stack = std::vector<Id>;
  using Counted = std::pair<const Stack, std::uint64_t>;

  void add(KernelNames& kernel, const Sample& sample);
  /// UTF-8, without the form's own marks, and not long.
  const std::string& name(Id id) const { return *names_[id]; }
  std::size_t name_count() const { return names_.size(); }
  /// The stacks and how often, in an order in which those with the same outermost functions stand together.
  std::vector<const Counted*> by_names() const;
  /// In order of their text.
  void write(std::ostream& out) const;

 private:
  void add_name(std::string_view name, std::string_view mark = {});
  void add_frame(const Frame& frame);
  std::vector<const Counted*> ordered(char between_names) const;

  SeededMap<std::string, Id> ids_;
  std::vector<const std::string*> names_;
  std::map<Stack, std::uint64_t> counts_;
  Stack stack_;  ///< its room is used again
};

/// One SVG file that a browser shows by itself: a rectangle for each function called from the one below it, as wide as
/// its share of the samples. A click widens a part, Ctrl-F searches. The script in it draws what is wide enough to be
/// seen, so the number of stacks does not matter. Without a script, as in a page's picture, the widest 4,000 rectangles
/// are seen. `title`: what was sampled.
void write_flame_graph(std::ostream& out, const FoldedStacks& stacks, const std::string& title);

}  // namespace sframe_gen::trace
