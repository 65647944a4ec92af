#include "code/function.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "code/compare.hpp"
#include "code/conditions.hpp"
#include "code/jump_table.hpp"
#include "code/listing.hpp"
#include "code/rows.hpp"
#include "code/state.hpp"

namespace sframe_gen::code {

namespace {

/// More restarts than a function has calls that do not return would be none of compilers' code.
constexpr int most_restarts = 64;

/// cc1plus has a function of 8,399 blocks. The state of a block may have 3 kB.
constexpr std::size_t most_blocks = std::size_t{1} << 15U;

/// So that not each byte of a hostile file has one, which takes 80 bytes.
constexpr std::uint64_t steps_per_disagreement = 16;

/// To join states takes as long as an instruction, and as long again for so many slots.
constexpr std::size_t slots_per_step = 16;

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

class PathFollower {
 public:
  /// `most_steps`: of a function that was proved or refused before.
  PathFollower(Program& program, std::uint64_t start, const Range& own, StepVisitor visit,
               std::optional<std::uint64_t> most_steps = std::nullopt)
      : program_(program),
        visit_(std::move(visit)),
        most_steps_(most_steps),
        listing_(program.image(), program.decoder(), own),
        own_cfi_(program.described(start)) {
    proof_.start = start;
    proof_.own = own;
    is_entry_ = own_cfi_ == nullptr || begins_as_an_entry(program.rules()[rule_at(*own_cfi_, start)]);
  }

  FunctionProof prove() {
    const std::uint64_t most = most_steps_ ? *most_steps_ : program_.steps_left();
    const std::uint64_t steps = own_cfi_ != nullptr ? std::min(most, 64 * proof_.own.size() + 256) : most;
    steps_left_ = steps;
    follow();
    proof_.steps = steps - steps_left_;
    if (!most_steps_) charge(proof_.steps + steps_per_disagreement * proof_.disagreements.size());
    return finish();
  }

  /// prove() of a function that is refused, instead.
  Reach reach() {
    steps_left_ = *most_steps_;
    follow();
    Reach reach;
    for (const auto& [begin, block] : blocks_) {
      const bool is_known = begin != proof_.refused_at;  // paths may have met there
      reach.blocks[begin] = is_known ? rules_of(block.state) : std::nullopt;
    }
    listing_.for_each([&](const Listing::Line& line) {
      if (line.block != 0) reach.instructions.push_back({line.pc, line.pc + line.instruction.size});
    });
    return reach;
  }

  std::vector<Disagreement> disagreements_on_the_way_in() {
    const cfi::Function& described = *program_.described(proof_.start);
    State state = State::at_entry();
    std::uint64_t before = 0;
    for (std::uint64_t pc = proof_.start; proof_.own.contains(pc) && program_.steps_left() > 0;) {
      const Instruction instruction = listing_.at(pc).instruction;
      if (instruction.size == 0) break;
      const std::size_t known = proof_.disagreements.size();
      compare(described, {pc, pc + instruction.size}, before, state);
      spend_of_all(1 + steps_per_disagreement * (proof_.disagreements.size() - known));
      if (!goes_straight_on(instruction.operation) || apply(instruction, pc, state) != Refusal::None) break;
      before = pc;
      pc += instruction.size;
    }
    std::erase_if(proof_.disagreements,
                  [](const Disagreement& found) { return found.column != Disagreement::Column::Cfa; });
    return std::move(proof_.disagreements);
  }

 private:
  struct Block {
    State state;
    /// The call that the block directly follows, if no other path has come here; else 0. Where another path comes with
    /// a different SP, that call does not return.
    std::uint64_t after_call = 0;
    bool is_pending = false;
    std::uint64_t from = 0;  ///< the instruction from which a path came first; 0: the function's caller
  };

  void charge(std::uint64_t steps) {
    if (steps > program_.steps_left()) {
      refuse(Refusal::TooMuchCode, proof_.start);
      proof_.disagreements.clear();
    }
    spend_of_all(steps);
  }

  void spend_of_all(std::uint64_t steps) { program_.steps_left() -= std::min(steps, program_.steps_left()); }

  /// Takes steps for work, but in the last pass, which does no more than the ones before. False: too few are left.
  bool spend(std::uint64_t steps, std::uint64_t pc) {
    if (is_final_) return true;
    if (steps > steps_left_) refuse(Refusal::TooMuchCode, pc);
    steps_left_ -= std::min(steps, steps_left_);
    return proof_.refusal == Refusal::None;
  }

  void follow() {
    for (int i = 0; !follow_paths(); ++i) {
      if (proof_.refusal != Refusal::None) return;
      if (i == most_restarts) return refuse(Refusal::ConflictingPaths, proof_.start);
    }
    is_final_ = true;
    for (const auto& [begin, block] : blocks_) {
      walk(begin);
      if (proof_.refusal != Refusal::None) return;
    }
  }

  /// False: it must begin again, as a call is now known not to return, or the function is refused.
  bool follow_paths() {
    blocks_.clear();
    pending_.clear();
    enter(proof_.start, State::at_entry(), 0, 0);
    while (!pending_.empty()) {
      const std::uint64_t begin = *pending_.begin();
      pending_.erase(pending_.begin());
      blocks_.at(begin).is_pending = false;
      must_restart_ = false;
      walk(begin);
      if (proof_.refusal != Refusal::None || must_restart_) return false;
    }
    return true;
  }

  void refuse(Refusal refusal, std::uint64_t pc) {
    if (proof_.refusal != Refusal::None) return;
    proof_.refusal = refusal;
    proof_.refused_at = pc;
  }

  /// A path comes to `pc` from the instruction at `from`.
  void enter(std::uint64_t pc, const State& state, std::uint64_t from, std::uint64_t after_call,
             bool may_probe = false) {
    if (is_final_) return;
    const auto [place, is_new] = blocks_.try_emplace(pc);
    Block& block = place->second;
    if (is_new) {
      if (blocks_.size() > most_blocks) return refuse(Refusal::TooMuchCode, pc);
      block = {state, after_call, false, from};
      block.state.comparison = {};
      schedule(pc, block);
      // A walk that went on over this place did not know that another path comes here.
      if (listing_.has(pc)) {
        const std::uint64_t walked = listing_.at(pc).block;
        const auto through = blocks_.find(walked);
        if (walked != 0 && walked != pc && through != blocks_.end()) schedule(walked, through->second);
      }
      return;
    }
    if (!spend(1 + state.slots().size() / slots_per_step, pc)) return;
    switch (block.state.join(state, may_probe)) {
      case State::Join::Same:
        break;
      case State::Join::Changed:
        schedule(pc, block);
        break;
      case State::Join::Conflict:
        return settle_conflict(pc, block, after_call);
    }
    if (after_call == 0) block.after_call = 0;
  }

  void settle_conflict(std::uint64_t pc, const Block& block, std::uint64_t after_call) {
    if (after_call != 0) {
      endless_calls_.insert(after_call);
    } else if (block.after_call != 0) {
      endless_calls_.insert(block.after_call);
      must_restart_ = true;
    } else {
      refuse(Refusal::ConflictingPaths, pc);
    }
  }

  void schedule(std::uint64_t pc, Block& block) {
    if (block.is_pending) return;
    block.is_pending = true;
    pending_.insert(pc);
  }

  bool may_be_reached_by_jump(std::uint64_t pc) const {
    if (proof_.own.contains(pc)) return true;
    if (program_.is_start(pc)) return false;
    return program_.described(pc) != nullptr || (own_cfi_ == nullptr && program_.is_undescribed(pc));
  }

  /// Whether another function begins at `pc` as far as a path with this state can tell.
  bool begins_another(std::uint64_t pc, const State& state) {
    if (pc == proof_.start || !program_.is_start(pc)) return false;
    return conditions::is_as_at_entry(state) || !program_.is_label_after_all(pc);
  }

  /// A direct jump, or a fall into other code.
  void go_to(std::uint64_t target, std::uint64_t pc, const State& state, bool may_probe = false) {
    if (target == proof_.start ||
        (!begins_another(target, state) && may_be_reached_by_jump(target) && !is_import(target))) {
      if (is_inside_another(target)) proof_.jumps_inside_another = true;
      if (is_split_part(target) && !program_.add_label(target, state[rsp]))
        return refuse(Refusal::ConflictingPaths, pc);
      return enter(target, state, pc, 0, may_probe);
    }
    if (!program_.image().is_code(target, 1)) return refuse(Refusal::OutsideCode, pc);
    if (!conditions::is_as_at_entry(state)) {
      program_.is_label_after_all(target);
      return refuse(Refusal::FlowsIntoFunction, pc);
    }
    leave_by_jump(state);
    if (const auto import = import_at(target)) return leave_to(*import);
    program_.add_tail(target);
    tails_.insert(target);
  }

  bool is_inside_another(std::uint64_t target) const {
    if (proof_.own.contains(target)) return false;
    const cfi::Function* const described = program_.described(target);
    return described != nullptr && program_.is_start(described->start);
  }

  bool is_split_part(std::uint64_t target) {
    if (own_cfi_ != nullptr || proof_.own.contains(target) || program_.described(target) != nullptr) return false;
    proof_.has_split_parts = true;
    return true;
  }

  bool is_import(std::uint64_t target) { return !proof_.own.contains(target) && import_at(target).has_value(); }

  std::optional<Import> import_at(std::uint64_t target) {
    const auto [place, is_new] = imports_.try_emplace(target);
    if (is_new) place->second = program_.imports().of_stub(target);
    return place->second;
  }

  void leave_to(const Import& import) {
    if (import.address != 0 && program_.image().is_code(import.address, 1)) {
      program_.add_tail(import.address);
      tails_.insert(import.address);
    }
    if (!conditions::never_returns(import.name)) proof_.has_return = true;
  }

  void leave(const State& state) {
    if (conditions::frame_pointer_is_callers(state)) return;
    proof_.effect.keeps_frame_pointer = false;
    if (is_final_) loses_frame_pointer_ = true;
  }

  void leave_by_jump(const State& state) {
    leave(state);
    if (!conditions::frame_pointer_is_callers(state)) proof_.jumps_without_frame_pointer = true;
  }

  void walk(std::uint64_t begin) {
    State state = blocks_.at(begin).state;
    std::uint64_t after_call = blocks_.at(begin).after_call, before = blocks_.at(begin).from;
    for (std::uint64_t pc = begin;;) {
      if (pc != begin && blocks_.contains(pc)) return enter(pc, state, before, after_call);
      if (pc != begin && ends_here(pc)) return fall_out(pc, state, before, after_call);
      // 8: the call before does not return: what follows is a part of another function.
      if (after_call != 0 && program_.is_anothers_label(pc, state[rsp])) return;
      if (!spend(1, pc)) return;
      Listing::Line& line = listing_.at(pc);
      if (line.instruction.size == 0)
        return refuse(program_.image().is_code(pc, 1) ? Refusal::Undecodable : Refusal::OutsideCode, pc);
      line.block = begin;
      const Instruction instruction = line.instruction;
      if (is_final_) program_.note_taken(pc, instruction);
      if (is_final_ && !note(pc, instruction, before, state)) return;
      if (is_final_ && other_convention_at_ == 0 && conditions::takes_address_from_caller(instruction, state))
        other_convention_at_ = pc;
      const std::uint64_t next = pc + instruction.size;
      const bool is_shown = is_final_ && visit_;
      const std::optional<State> shown = is_shown ? std::optional(state) : std::nullopt;
      const bool goes_on = step(instruction, pc, next, state, after_call);
      if (is_shown) visit_(step_of(pc, instruction, goes_on, *shown), *shown);
      if (state[rsp].is(Value::Kind::Cfa) && state[rsp].number > -8) pops_return_address_ = true;
      if (!goes_on) return;
      before = pc;
      pc = next;
    }
  }

  /// Where code of an FDE ends, or another function begins.
  bool ends_here(std::uint64_t pc) const {
    if (program_.is_start(pc)) return true;
    if (own_cfi_ == nullptr) return !proof_.own.contains(pc) && !program_.is_undescribed(pc);
    if (pc == proof_.own.end) return true;
    if (proof_.own.contains(pc)) return false;
    const cfi::Function* const described = program_.described(pc);
    return described == nullptr || described->start == pc;
  }

  void fall_out(std::uint64_t pc, const State& state, std::uint64_t before, std::uint64_t after_call) {
    // Functions are aligned: after a call that does not return, one may begin without padding.
    const bool may_be_label = after_call == 0 || pc % 16 != 0;
    if (own_cfi_ == nullptr && may_be_label && program_.is_start(pc) && !begins_another(pc, state))
      return enter(pc, state, before, after_call);
    if (after_call != 0) return;  // 8: the call before does not return
    // Compilers let code that cannot be reached run on into whatever the linker has put next.
    for (; !program_.is_start(pc) || !conditions::is_as_at_entry(state); pc += listing_.at(pc).instruction.size) {
      const Instruction& padding = listing_.at(pc).instruction;
      const bool is_padding = program_.described(pc) == nullptr && !program_.is_start(pc) &&
                              padding.operation == Operation::Nothing && padding.size != 0;
      if (!is_padding || !spend(1, pc)) return refuse(Refusal::FlowsIntoFunction, pc);
    }
    go_to(pc, pc, state);
  }

  /// Whether the function gets rows of its own, as no CFI describes it.
  bool is_undescribed() const { return own_cfi_ == nullptr && program_.options().proves_undescribed; }

  /// In the last pass: marks the instruction, and compares.
  bool note(std::uint64_t pc, const Instruction& instruction, std::uint64_t before, const State& state) {
    if (!program_.marks().mark(pc, instruction.size)) {
      program_.note_overlap(pc);
      refuse(Refusal::OverlappingInstructions, pc);
      return false;
    }
    const cfi::Function* const described = proof_.own.contains(pc) ? own_cfi_ : program_.described(pc);
    if (described == nullptr || !may_be_judged(*described)) return true;
    // CFI of a part that is called, in its own function's frame, counts from that one's CFA.
    if (proof_.start != described->start && proof_.own.contains(pc) && !is_entry_) return true;
    // Of code that has an entry of its own, this path knows nothing that counts.
    if (!proof_.own.contains(pc) && program_.is_start(described->start)) return true;
    if (!state.is_doubtful) compare(*described, {pc, pc + instruction.size}, before, state);
    return true;
  }

  void compare(const cfi::Function& described, const Range& pcs, std::uint64_t before, const State& state) {
    const cfi::RuleId rule = rule_at(described, pcs.begin);
    proof_.compared_bytes += pcs.size();
    auto found = disagreement(program_.rules()[rule], state);
    if (!found) return;
    found->pcs = pcs;
    found->rule = rule;
    found->instruction = before != 0 ? before : pcs.begin;
    auto& list = proof_.disagreements;
    const bool goes_on = !list.empty() && list.back().pcs.end == pcs.begin && list.back().rule == rule &&
                         list.back().column == found->column && list.back().base == found->base;
    if (goes_on) {
      list.back().pcs.end = found->pcs.end;
    } else {
      list.push_back(*found);
    }
  }

  /// False: no path goes on to `next`.
  bool step(const Instruction& instruction, std::uint64_t pc, std::uint64_t next, State& state,
            std::uint64_t& after_call) {
    switch (instruction.operation) {
      case Operation::Return:
        return_from(instruction, pc, state);
        return false;
      case Operation::Trap:
        return false;
      case Operation::Jump:
        jump(instruction, pc, state);
        return false;
      case Operation::ConditionalJump:
        branch(instruction, pc, state);
        after_call = 0;
        return proof_.refusal == Refusal::None;
      case Operation::Call:
        return call(instruction, pc, next, state, after_call);
      case Operation::Nothing:
        return true;
      case Operation::SystemCall:
        if (is_undescribed() && !conditions::keeps_stack(state[rax])) return refuse(Refusal::OtherStack, pc), false;
        break;
      default:
        break;
    }
    if (const Refusal refusal = apply(instruction, pc, state); refusal != Refusal::None) {
      refuse(refusal, pc);
      return false;
    }
    return true;
  }

  void return_from(const Instruction& instruction, std::uint64_t pc, const State& state) {
    if (!conditions::stack_pointer_is_as_at_entry(state)) return refuse(Refusal::ReturnNotAtEntry, pc);
    if (!conditions::return_address_is_in_place(state)) return refuse(Refusal::ReturnAddressLost, pc);
    if (instruction.operands[0].kind == Operand::Kind::Immediate) return refuse(Refusal::CalleePops, pc);
    leave(state);
    proof_.has_return = true;
  }

  void branch(const Instruction& instruction, std::uint64_t pc, State& state) {
    for (RegisterNumber reg = 0; reg < register_count; ++reg)
      if ((instruction.written >> reg & 1U) != 0) state.define(reg, pc);  // loop: rcx
    State taken = state;
    apply_condition(instruction.condition, true, taken);
    const bool probes = state.comparison.kind == LastComparison::Kind::StackPointer &&
                        instruction.condition == Condition::NotEqual && is_on_stack(state[state.comparison.reg]);
    if (probes) taken.set(rsp, probing);
    const bool leaves_own_code = !proof_.own.contains(instruction.target);
    if (conditions::may_never_be_taken(instruction.condition, leaves_own_code)) taken.is_doubtful = true;
    go_to(instruction.target, pc, taken, probes);
    apply_condition(instruction.condition, false, state);
  }

  void jump(const Instruction& instruction, std::uint64_t pc, const State& state) {
    if (instruction.is_direct) return go_to(instruction.target, pc, state);
    const Operand& operand = instruction.operands[0];
    if (operand.kind == Operand::Kind::Memory && operand.base == no_register && operand.index == no_register) {
      const auto import = program_.imports().of_slot(static_cast<std::uint64_t>(operand.number));
      if (import && conditions::is_as_at_entry(state)) return leave_by_jump(state), leave_to(*import);
    }
    const Value target = target_of(operand, state);
    if (target.is(Value::Kind::Constant)) return go_to(static_cast<std::uint64_t>(target.number), pc, state);
    if (target.is(Value::Kind::TableTarget) || target.is(Value::Kind::TableAddress)) {
      const JumpTargets table = read(target, state);
      if (!spend(table.entries, pc)) return;
      if (table.is_sound) {
        // 7: an entry that no number leads to holds the default, which may be never taken, too. Code without CFI is
        // judged there, so that a table makes no row that another path contradicts.
        State maybe = state;
        maybe.is_doubtful = maybe.is_doubtful || own_cfi_ != nullptr;
        for (const std::uint64_t to : table.targets) go_to(to, pc, proof_.own.contains(to) ? state : maybe);
        return;
      }
      const bool may_leave = conditions::is_as_at_entry(state) && !program_.options().bounded_tables_only;
      if (!may_leave) return refuse(Refusal::JumpTable, pc);
    }
    if (!conditions::is_as_at_entry(state)) return refuse(Refusal::IndirectJump, pc);
    leave(state);
    proof_.has_indirect_tail = true;
  }

  Step step_of(std::uint64_t pc, const Instruction& instruction, bool goes_on, const State& state) {
    Step shown{pc, instruction, goes_on, {}, {}};
    if (instruction.operation != Operation::Jump || instruction.is_direct) return shown;
    shown.table = target_of(instruction.operands[0], state);
    if (!shown.table.is(Value::Kind::TableTarget) && !shown.table.is(Value::Kind::TableAddress)) return shown;
    JumpTargets table = read(shown.table, state);
    if (table.is_sound) shown.targets = std::move(table.targets);
    return shown;
  }

  JumpTargets read(const Value& table, const State& state) {
    const auto may_be = [this](std::uint64_t target) {
      if (proof_.own.contains(target)) return true;
      const cfi::Function* const described = program_.described(target);
      if (described != nullptr) return !program_.is_start(described->start);
      return own_cfi_ == nullptr && program_.is_undescribed(target) && !program_.is_start(target);
    };
    if (conditions::is_bounded(table)) {
      // Another function's start is a tail. Reading by contents would end there.
      const auto may_be_tail = [&](std::uint64_t target) { return may_be(target) || program_.is_start(target); };
      JumpTargets targets = read_bounded_table(program_.image(), table, proof_.own, may_be_tail);
      if (targets.is_sound) return targets;
    }
    if (program_.options().bounded_tables_only) return {{}, false};
    unbounded_tables_.insert(static_cast<std::uint64_t>(table.number));
    const std::size_t known = listing_.size();
    const std::set<std::uint64_t>& others =
        own_cfi_ != nullptr ? listing_.taken_addresses() : listing_.addresses_taken_so_far();
    if (!spend(listing_.size() - known, proof_.start)) return {{}, false};
    std::optional<std::uint64_t> end = program_.taken_after(static_cast<std::uint64_t>(table.number));
    const auto next = others.upper_bound(static_cast<std::uint64_t>(table.number));
    if (next != others.end()) end = std::min(end.value_or(*next), *next);
    // CFI ends it as well: what comes after a table leads to code of another depth.
    const auto may_be_start = [&](std::uint64_t target) {
      if (own_cfi_ == nullptr) return proof_.own.contains(target);
      if (!may_be(target) || (proof_.own.contains(target) && !listing_.has(target))) return false;
      const cfi::Function* const described = program_.described(target);
      return described == nullptr || !disagreement(program_.rules()[rule_at(*described, target)], state);
    };
    return read_unbounded_table(program_.image(), table, proof_.own, end, may_be_start);
  }

  bool call(const Instruction& instruction, std::uint64_t pc, std::uint64_t next, State& state,
            std::uint64_t& after_call) {
    if (instruction.is_direct && instruction.target == next) {  // it only asks for its own address
      Instruction push;
      push.operation = Operation::Push;
      push.operands[0] = {.kind = Operand::Kind::Immediate, .bits = 64, .number = static_cast<std::int64_t>(next)};
      return apply(push, pc, state) == Refusal::None;
    }
    const CalleeEffect callee = effect_of_call(instruction, pc);
    if (!callee.returns || endless_calls_.contains(pc)) return false;
    if (!conditions::callee_may_be_trusted(callee)) {
      refuse(Refusal::CalleeUnbalanced, pc);
      return false;
    }
    apply_call(callee, pc, state);
    after_call = pc;
    return !is_left_by_cfi(pc, next, state);
  }

  /// Whether CFI changes directly after a call, where no instruction changes anything, and not to what holds there: the
  /// compiler knew that the call does not return, and put another part of the function there.
  bool is_left_by_cfi(std::uint64_t pc, std::uint64_t next, const State& state) const {
    const cfi::Function* const described = program_.described(pc);
    if (described == nullptr || next >= described->end()) return false;
    const cfi::RuleId after = rule_at(*described, next);
    return after != rule_at(*described, pc) && disagreement(program_.rules()[after], state).has_value();
  }

  CalleeEffect effect_of_call(const Instruction& instruction, std::uint64_t pc) {
    const Operand& operand = instruction.operands[0];
    std::optional<Import> import;
    std::uint64_t target = instruction.target;
    if (instruction.is_direct) {
      if (!program_.is_start(target)) import = import_at(target);
    } else if (operand.kind == Operand::Kind::Memory && operand.base == no_register && operand.index == no_register) {
      import = program_.imports().of_slot(static_cast<std::uint64_t>(operand.number));
    }
    if (import) {
      if (conditions::never_returns(import->name)) return {.returns = false};
      target = import->address;
    } else if (!instruction.is_direct) {
      return {.is_known = false};
    }
    if (target == 0 || !program_.image().is_code(target, 1)) return {.is_known = false};
    if (target != proof_.start) callees_.insert(target);
    if (program_.described(pc) != program_.described(target)) program_.marks().mark_called_from_outside(target);
    return program_.effect_of_call(target);
  }

  FunctionProof finish() {
    proof_.callees.assign(callees_.begin(), callees_.end());
    proof_.tails.assign(tails_.begin(), tails_.end());
    proof_.unbounded_tables.assign(unbounded_tables_.begin(), unbounded_tables_.end());
    // What a function takes the address of does not depend on its proof.
    if (proof_.refusal != Refusal::None && program_.options().proves_undescribed)
      listing_.for_each([this](const Listing::Line& line) { program_.note_taken(line.pc, line.instruction); });
    // Code without CFI that goes on in described code is proved by that as well.
    if (own_cfi_ == nullptr && !proof_.disagreements.empty())
      refuse(Refusal::ConflictingPaths, proof_.disagreements.front().pcs.begin);
    CalleeEffect& effect = proof_.effect;
    effect.is_known = proof_.refusal == Refusal::None;
    switch (proof_.refusal) {
      case Refusal::None: {
        const auto returns = [&](std::uint64_t tail) { return program_.effect_of(tail).returns; };
        effect.returns = proof_.has_return || proof_.has_indirect_tail || std::ranges::any_of(proof_.tails, returns);
        effect.is_known = !proof_.has_indirect_tail;
        for (const std::uint64_t tail : proof_.tails) {
          if (!program_.effect_of(tail).keeps_frame_pointer) effect.keeps_frame_pointer = false;
          if (!program_.effect_of(tail).is_known) effect.is_known = false;
        }
        break;
      }
      case Refusal::ReturnNotAtEntry:
      case Refusal::CalleePops:
        // A table that was read too far leads anywhere.
        effect.balances = !proof_.unbounded_tables.empty() && !pops_return_address_;
        break;
      default:
        effect.balances = !pops_return_address_;
        break;
    }
    // 4, 11: OCaml's functions, which have CFI, are known to do this. Haskell's do it as well, and do not return by the
    // stack.
    if (loses_frame_pointer_ && is_undescribed()) refuse(Refusal::FramePointerLost, proof_.start);
    // Only now: its callers must know what else it changes.
    if (other_convention_at_ != 0 && is_undescribed()) refuse(Refusal::OtherConvention, other_convention_at_);
    if (!effect.keeps_frame_pointer)
      std::erase_if(proof_.disagreements,
                    [](const Disagreement& found) { return found.column == Disagreement::Column::FramePointer; });
    return std::move(proof_);
  }

  Program& program_;
  StepVisitor visit_;
  std::optional<std::uint64_t> most_steps_;
  Listing listing_;
  const cfi::Function* own_cfi_;  ///< null: CFI does not describe the function
  FunctionProof proof_;
  std::map<std::uint64_t, Block> blocks_;
  std::set<std::uint64_t> pending_;
  std::set<std::uint64_t> endless_calls_;
  std::set<std::uint64_t> callees_, tails_, unbounded_tables_;
  std::map<std::uint64_t, std::optional<Import>> imports_;
  std::uint64_t steps_left_ = 0;
  bool is_entry_ = true;  ///< as CFI has it, CFA = rsp + 8 at the start
  bool must_restart_ = false;
  bool is_final_ = false;
  bool loses_frame_pointer_ = false;
  std::uint64_t other_convention_at_ = 0;  ///< the first instruction that takes an address from a caller's register
  bool pops_return_address_ = false;       ///< SP has been above it
};

}  // namespace

/// To follow a function again takes as many steps as its proof did, if nothing else was found since.
std::uint64_t most_to_visit(const FunctionProof& function) {
  return 2 * function.steps + 256;
}

FunctionProof prove_function(Program& program, std::uint64_t start, const Range& own) {
  return PathFollower(program, start, own, {}).prove();
}

Reach reach_of(Program& program, const FunctionProof& function) {
  return PathFollower(program, function.start, function.own, {}, most_to_visit(function)).reach();
}

std::vector<Disagreement> disagreements_on_the_way_in(Program& program, const FunctionProof& function) {
  return PathFollower(program, function.start, function.own, {}).disagreements_on_the_way_in();
}

FunctionProof visit_steps(Program& program, const FunctionProof& function, const StepVisitor& visit) {
  return PathFollower(program, function.start, function.own, visit, most_to_visit(function)).prove();
}

}  // namespace sframe_gen::code
