#include "trace/walk/comparison.hpp"

#include <algorithm>

namespace sframe_gen::trace {

const char* text_of(Match match) {
  switch (match) {
    case Match::Equal:
      return "equal";
    case Match::UpToCut:
      return "equal up to a cut";
    case Match::Different:
      return "different";
  }
  return "";
}

std::optional<Comparison> comparison_of(const Stack& stack) {
  if (!stack.by_dwarf || stack.by_dwarf->frames.empty()) return std::nullopt;
  const auto& [frames, cut, memory_ends] = *stack.by_dwarf;
  Comparison comparison{.dwarf_frame = {}, .dwarf_last = frames.size() - 1, .dwarf_cut = cut.value_or("")};
  // The same words as for our own walk.
  if (cut && memory_ends && stack.is_piece) comparison.dwarf_cut = "the recorded piece of the stack ends";
  const auto [ours, theirs] = std::ranges::mismatch(stack.frames, frames, {}, &Frame::pc, &Frame::pc);
  const bool ours_ends = ours == stack.frames.end(), theirs_ends = theirs == frames.end();
  const bool is_cut = (ours_ends && !stack.is_whole()) || (theirs_ends && cut);
  if (is_cut) {
    comparison.match = Match::UpToCut;
  } else if (!ours_ends || !theirs_ends) {
    comparison.match = Match::Different;
    comparison.frame = static_cast<std::size_t>(theirs - frames.begin());
    if (!theirs_ends) comparison.dwarf_frame = *theirs;
  }
  return comparison;
}

}  // namespace sframe_gen::trace
