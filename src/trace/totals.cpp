#include "trace/totals.hpp"

#include <algorithm>
#include <functional>
#include <utility>
#include <vector>

#include "support/text.hpp"

namespace sframe_gen::trace {

void Totals::add(const Stack& stack, const std::optional<Cut>& cut) {
  ++stacks_;
  frames_ += stack.frames.size();
  if (stack.is_whole()) ++whole_;
  if (cut) ++cuts_[text_of(*cut)];
}

void Totals::add_missing(const std::string& reason) {
  ++cuts_[reason];
}

void Totals::write(std::ostream& out) const {
  out << "sframe-trace: " << count_of(stacks_, "stack") << ", " << count_of(frames_, "frame") << "; " << whole_
      << " whole\n";
  using Count = std::pair<std::string, std::uint64_t>;
  std::vector<Count> lines(cuts_.begin(), cuts_.end());
  std::ranges::stable_sort(lines, std::greater<>(), &Count::second);
  for (const auto& [text, count] : lines) out << "  " << count << " cut: " << text << '\n';
}

}  // namespace sframe_gen::trace
