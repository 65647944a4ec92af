#include "rows/proof/paths.hpp"

#include <algorithm>
#include <cstddef>
#include <tuple>

#include "rows/proof/state_rules.hpp"

namespace sframe_gen::rows::proof {

namespace {

/// cc1plus has a function of 8,399 blocks. The state of a block may have 3 kB.
constexpr std::size_t most_blocks = std::size_t{1} << 15U;

}  // namespace

Paths::Arrival Paths::arrive(std::uint64_t pc, const State& state, std::uint64_t from, bool may_probe) {
  const auto [place, is_new] = blocks_.try_emplace(pc);
  Block& block = place->second;
  if (is_new) {
    if (blocks_.size() > most_blocks) return Arrival::TooMany;
    block = {state, from, false};
    block.state.comparison = {};
    schedule(pc, block);
    return Arrival::New;
  }
  const std::uint64_t call = block.state.after_call;
  const bool one_is_sure = (call == 0) != (state.after_call == 0);
  const bool have_rules = one_is_sure && rules_of(block.state) && rules_of(state);
  const State::Join joined = block.state.join(state, may_probe);
  if (joined == State::Join::Same) return Arrival::Known;
  // No compiler lets paths meet that have the caller's FP in different places.
  const bool disagree = joined == State::Join::Conflict || (have_rules && !rules_of(block.state));
  if (!disagree) {
    schedule(pc, block);
    return Arrival::Known;
  }
  // Of two entries, none is known to be right: one table was read too far.
  const bool is_unsolved = is_table_entry(call) && is_table_entry(state.after_call);
  if (blame_ == Blame::None || is_unsolved || (call == 0 && state.after_call == 0)) return Arrival::Conflict;
  for (const std::uint64_t one : {call, state.after_call})
    if (one != 0) endless_calls_.insert(one);
  must_restart_ = true;
  return Arrival::Known;
}

void Paths::lose(std::uint64_t pc) {
  Block& block = blocks_.at(pc);
  block.state = State();
  schedule(pc, block);
}

std::optional<std::uint64_t> Paths::next() {
  if (pending_.empty()) return std::nullopt;
  const std::uint64_t pc = *pending_.begin();
  pending_.erase(pending_.begin());
  blocks_.at(pc).is_pending = false;
  return pc;
}

bool Paths::blame_call(const State& state) {
  if (state.after_call == 0) return false;
  endless_calls_.insert(state.after_call);
  must_restart_ = true;
  return true;
}

void Paths::restart() {
  blocks_.clear();
  pending_.clear();
  must_restart_ = false;
}

void Paths::schedule(std::uint64_t pc, Block& block) {
  if (block.is_pending) return;
  block.is_pending = true;
  pending_.insert(pc);
}

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
