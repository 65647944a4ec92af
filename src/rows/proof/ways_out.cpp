#include "rows/proof/ways_out.hpp"

#include <algorithm>
#include <tuple>

namespace sframe_gen::rows::proof {

void WaysOut::clear() {
  edges_.clear();
  last_.clear();
  new_.clear();
}

void WaysOut::found(std::uint64_t block, std::uint64_t pc) {
  const auto [last, is_new] = last_.try_emplace(block, pc);
  if (is_new) new_.push_back(block);
  last->second = std::max(last->second, pc);
}

void WaysOut::spread(const Paths& paths, const Range& own) {
  for (const Edge& edge : edges_)
    if (own.contains(edge.to) && paths.contains(edge.to) && paths.at(edge.to).state.after_call == 0)
      found(edge.block, edge.pc);
  std::ranges::sort(edges_, {}, [](const Edge& edge) { return std::tuple(edge.to, edge.block, edge.pc); });
  while (!new_.empty()) {
    const std::uint64_t block = new_.back();
    new_.pop_back();
    // Not std::ranges::equal_range: clang 14 does not compile libstdc++'s views.
    auto edge = std::ranges::lower_bound(edges_, block, {}, &Edge::to);
    for (; edge != edges_.end() && edge->to == block; ++edge) found(edge->block, edge->pc);
  }
}

bool WaysOut::lead_from(std::uint64_t block, std::uint64_t pc) const {
  const auto last = last_.find(block);
  return last != last_.end() && pc <= last->second;
}

}  // namespace sframe_gen::rows::proof
