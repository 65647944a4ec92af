#include "rows/proof/findings.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "rows/proof/effect.hpp"
#include "rows/proof/state_rules.hpp"

namespace sframe_gen::rows::proof {

namespace {

bool has(const std::vector<Disagreement>& found, const Disagreement& one) {
  return std::ranges::any_of(found, [&](const Disagreement& other) {
    return other.column == one.column && other.pcs.begin <= one.pcs.begin && one.pcs.begin < other.pcs.end;
  });
}

bool contains(const cfi::Function& described, std::uint64_t pc) {
  return described.start <= pc && pc < described.end();
}

/// Whether the function comes to the shared code by a jump with another CFA.
bool is_beyond_a_jump(const Program& program, const Paths& paths, const Range& own, const Disagreement& one) {
  if (own.contains(one.pcs.begin)) return false;
  const cfi::Function* const described = program.described(one.pcs.begin);
  return std::ranges::any_of(paths.blocks(), [&](const auto& block) {
    if (described == nullptr || !contains(*described, block.first)) return false;
    const auto found = disagreement(program.rules()[rule_at(*described, block.first)], block.second.state);
    return found && found->column == Disagreement::Column::Cfa && !contains(*described, block.second.from);
  });
}

constexpr bool goes_straight_on(Operation operation) {
  switch (operation) {
    case Operation::Return:
    case Operation::Trap:
    case Operation::Jump:
    case Operation::ConditionalJump:
    case Operation::Call:
    case Operation::SystemCall:
      return false;
    default:
      return true;
  }
}

}  // namespace

void compare_with_cfi(Program& program, const cfi::Function& described, const Range& pcs, std::uint64_t before,
                      const State& state, FunctionProof& proof) {
  const cfi::RuleId rule = rule_at(described, pcs.begin);
  proof.compared_bytes += pcs.size();
  auto found = disagreement(program.rules()[rule], state);
  if (!found) {
    if (!proof.own.contains(pcs.begin)) program.marks().mark_agreed(pcs.begin);
    return;
  }
  found->pcs = pcs;
  found->rule = rule;
  found->instruction = before != 0 ? before : pcs.begin;
  auto& list = proof.disagreements;
  const bool goes_on = !list.empty() && list.back().pcs.end == pcs.begin && list.back().rule == rule &&
                       list.back().column == found->column && list.back().base == found->base;
  if (goes_on) {
    list.back().pcs.end = found->pcs.end;
  } else {
    list.push_back(*found);
  }
}

std::vector<Disagreement> disagreements_on_the_way_in(Program& program, const FunctionProof& function) {
  const cfi::Function& described = *program.described(function.start);
  FunctionProof way_in;
  way_in.own = function.own;
  Listing listing(program.image(), program.decoder(), function.own);
  State state = State::at_entry();
  std::uint64_t before = 0;
  for (std::uint64_t pc = function.start; function.own.contains(pc) && program.steps_left() > 0;) {
    const Instruction instruction = listing.at(pc).instruction;
    if (instruction.size == 0) break;
    const std::size_t known = way_in.disagreements.size();
    compare_with_cfi(program, described, {pc, pc + instruction.size}, before, state, way_in);
    program.spend(1 + steps_per_disagreement * (way_in.disagreements.size() - known));
    if (!goes_straight_on(instruction.operation) || apply(instruction, pc, state) != Refusal::None) break;
    before = pc;
    pc += instruction.size;
  }
  std::erase_if(way_in.disagreements,
                [](const Disagreement& found) { return found.column != Disagreement::Column::Cfa; });
  return std::move(way_in.disagreements);
}

std::vector<std::uint64_t> calls_that_may_not_return(const std::vector<Range>& calls, const Listing& listing,
                                                     const WaysOut& ways_out) {
  std::vector<std::uint64_t> doubtful;
  for (const Range& call : calls) {
    const Listing::Line* const next = listing.line_at(call.end);
    const bool returns = next != nullptr && next->is_after_call && ways_out.lead_from(next->block, call.end);
    if (!returns) doubtful.push_back(call.begin);
  }
  return doubtful;
}

void tell_doubted_apart(const Program& program, const Paths& paths, const std::vector<Disagreement>& sure,
                        FunctionProof& proof) {
  for (const Disagreement& one : std::exchange(proof.disagreements, {})) {
    const bool is_doubted = is_beyond_a_jump(program, paths, proof.own, one) || !has(sure, one);
    (is_doubted ? proof.doubted : proof.disagreements).push_back(one);
  }
}

}  // namespace sframe_gen::rows::proof
