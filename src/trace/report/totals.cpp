#include "trace/report/totals.hpp"

#include <algorithm>
#include <functional>
#include <utility>
#include <vector>

#include "support/text.hpp"
#include "trace/walk/stack.hpp"

namespace sframe_gen::trace {

void Totals::add(const Stack& stack, const std::optional<Cut>& cut) {
  ++stacks_;
  frames_ += stack.frames.size();
  if (stack.is_whole()) ++whole_;
  if (cut) ++cuts_[text_of(*cut)];
  const auto comparison = comparison_of(stack);
  if (!comparison) return;
  ++compared_;
  different_ += comparison->match == Match::Different ? 1U : 0U;
  equal_ += comparison->match == Match::Equal ? 1U : 0U;
  if (!comparison->dwarf_cut.empty()) ++dwarf_cuts_[comparison->dwarf_cut];
}

void Totals::add_missing(const std::string& reason) {
  ++cuts_[reason];
}

void Totals::write(std::ostream& out) const {
  out << "sframe-trace: " << count_of(stacks_, "stack") << ", " << count_of(frames_, "frame") << "; " << whole_
      << " whole\n";
  write_counts(out, cuts_, " cut: ");
  if (compared_ != 0) write_comparison(out);
}

void Totals::write_comparison(std::ostream& out) const {
  out << "sframe-trace: " << count_of(compared_, "stack") << " walked by DWARF as well: " << equal_ << " equal, "
      << compared_ - equal_ - different_ << " equal up to where one is cut, " << different_ << " different\n";
  write_counts(out, dwarf_cuts_, " cut by DWARF: ");
}

void Totals::write_counts(std::ostream& out, const Counts& counts, const char* what) {
  using Count = std::pair<std::string, std::uint64_t>;
  std::vector<Count> lines(counts.begin(), counts.end());
  std::ranges::stable_sort(lines, std::greater<>(), &Count::second);
  for (const auto& [text, count] : lines) out << "  " << count << what << text << '\n';
}

}  // namespace sframe_gen::trace
