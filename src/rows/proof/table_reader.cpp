#include "rows/proof/table_reader.hpp"

#include <algorithm>
#include <optional>

#include "rows/proof/compare.hpp"
#include "rows/proof/conditions.hpp"

namespace sframe_gen::rows::proof {

TableReader::TableReader(Program& program, const Borders& borders, Listing& listing, const Range& own)
    : program_(program), borders_(borders), listing_(listing), own_(own) {}

JumpTargets TableReader::read(const Value& table, const State& state, const Spend& spend) {
  if (conditions::is_bounded(table)) {
    // Another function's start is a tail. Reading by contents would end there.
    const auto may_be_tail = [&](std::uint64_t target) { return may_lead_to(target) || program_.is_start(target); };
    JumpTargets targets = read_bounded_table(program_.image(), table, own_, may_be_tail);
    if (targets.is_sound) return targets;
  }
  if (program_.options().bounded_tables_only) return {{}, false};
  const auto address = static_cast<std::uint64_t>(table.number);
  unbounded_.insert(address);
  const std::size_t known = listing_.size();
  const std::set<std::uint64_t>& others =
      borders_.own_cfi() != nullptr ? listing_.taken_addresses() : listing_.addresses_taken_so_far();
  if (!spend(listing_.size() - known)) return {{}, false};
  std::optional<std::uint64_t> end = program_.taken_after(address);
  const auto next = others.upper_bound(address);
  if (next != others.end()) end = std::min(end.value_or(*next), *next);
  return read_unbounded_table(program_.image(), table, own_, end,
                              [&](std::uint64_t target) { return may_lead_with(state, target); });
}

bool TableReader::may_lead_to(std::uint64_t target) {
  if (own_.contains(target)) return true;
  const cfi::Function* const described = program_.described(target);
  if (described != nullptr) return !program_.is_start(described->start);
  return borders_.own_cfi() == nullptr && program_.is_undescribed(target) && !program_.is_start(target);
}

bool TableReader::may_lead_with(const State& state, std::uint64_t target) {
  if (borders_.own_cfi() == nullptr) return own_.contains(target);
  if (!may_lead_to(target) || (own_.contains(target) && !listing_.has(target))) return false;
  // CFI ends the table as well: what comes after it leads to code of another depth.
  const cfi::Function* const described = program_.described(target);
  return described == nullptr || !disagreement(program_.rules()[rule_at(*described, target)], state);
}

}  // namespace sframe_gen::rows::proof
