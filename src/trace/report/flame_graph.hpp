#pragma once

#include <ostream>

#include "trace/report/folded.hpp"

namespace sframe_gen::trace {

/// One SVG file that a browser shows by itself: a rectangle for each function called from the one below it, as wide as
/// its share of the samples. A click widens a part, Ctrl-F searches. The script in it draws what is wide enough to be
/// seen, so the number of stacks does not matter.
void write_flame_graph(std::ostream& out, const FoldedStacks& stacks);

}  // namespace sframe_gen::trace
