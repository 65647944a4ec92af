#include "rows/proof/function.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "rows/proof/conditions.hpp"
#include "rows/proof/effect.hpp"
#include "rows/proof/findings.hpp"
#include "rows/proof/function_ends.hpp"
#include "rows/proof/jump_table.hpp"
#include "rows/proof/listing.hpp"
#include "rows/proof/neighbors.hpp"
#include "rows/proof/paths.hpp"
#include "rows/proof/state.hpp"
#include "rows/proof/state_rules.hpp"

namespace sframe_gen::rows::proof {

namespace {

/// More restarts than a function has calls that do not return would be none of compilers' code.
constexpr int most_restarts = 64;

/// To join states takes as long as an instruction, and as long again for so many slots.
constexpr std::size_t slots_per_step = 16;

/// Whether the next instruction follows, or may do so.
constexpr bool may_go_on(const Instruction& instruction) {
  return instruction.operation != Operation::Return && instruction.operation != Operation::Trap &&
         instruction.operation != Operation::Jump;
}

/// To follow a function again takes as many steps as its proof did, if nothing else was found since.
std::uint64_t most_to_visit(const FunctionProof& function) {
  return 2 * function.steps + 256;
}

/// What a path may do that cannot be, where a call before it does not return. The holes of a table lead to code as
/// well: what is none shows that the table was read too far.
constexpr bool may_be_calls_fault(Refusal refusal, std::uint64_t call) {
  const bool is_no_code = refusal == Refusal::Undecodable || refusal == Refusal::OutsideCode;
  return (is_no_code && !Paths::is_table_entry(call)) || refusal == Refusal::ReturnNotAtEntry ||
         refusal == Refusal::FlowsIntoFunction;
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
        borders_(program, own),
        callees_(program, borders_, start),
        tables_(program, borders_, listing_, own),
        own_cfi_(borders_.own_cfi()),
        ends_(program, proof_) {
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

  /// prove(), where these calls do not return, nor others after which CFI changes. Returns what CFI says wrongly.
  std::vector<Disagreement> disagreements_without(const std::vector<std::uint64_t>& calls) {
    is_strict_ = true;
    for (const std::uint64_t call : calls) paths_.add_endless(call);
    steps_left_ = *most_steps_;
    follow();
    if (proof_.refusal != Refusal::None) proof_.disagreements.clear();
    return std::move(proof_.disagreements);
  }

  /// Follows a function that prove() has refused: where a path is lost, it goes on with nothing known.
  Reach reach() {
    is_reaching_ = true;
    paths_ = Paths(Paths::Blame::None);
    steps_left_ = std::min(program_.steps_left(), 16 * proof_.own.size() + 4096);
    const std::uint64_t steps = steps_left_;
    follow_paths();
    program_.spend(steps - steps_left_);
    Reach reach;
    for (const auto& [begin, block] : paths_.blocks()) reach.blocks[begin] = rules_of(block.state);
    listing_.for_each([&](const Listing::Line& line) {
      if (line.block != 0) reach.instructions.push_back({line.pc, line.pc + line.instruction.size});
    });
    return reach;
  }

 private:
  void charge(std::uint64_t steps) {
    if (steps > program_.steps_left()) {
      refuse(Refusal::TooMuchCode, proof_.start);
      proof_.disagreements.clear();
    }
    program_.spend(steps);
  }

  /// Takes steps for work, but in the last pass, which does no more than the ones before. False: too few are left.
  bool spend(std::uint64_t steps, std::uint64_t pc) {
    if (is_final_) return true;
    if (steps > steps_left_) refuse(Refusal::TooMuchCode, pc);
    steps_left_ -= std::min(steps, steps_left_);
    return proof_.refusal == Refusal::None && !(is_reaching_ && steps_left_ == 0);
  }

  void follow() {
    for (int i = 0; !follow_paths(); ++i) {
      if (proof_.refusal != Refusal::None) return;
      if (i == most_restarts) return refuse(Refusal::ConflictingPaths, proof_.start);
    }
    is_final_ = true;
    walk_all();
    if (proof_.refusal != Refusal::None) return;
    const bool has_doubts = !proof_.disagreements.empty() && program_.options().tells_doubted_apart;
    if (own_cfi_ == nullptr || has_doubts) ways_out_.spread(paths_, proof_.own);
    if (own_cfi_ == nullptr) mark_lines();
    if (!visit_ || proof_.refusal != Refusal::None) return;
    is_shown_ = true;
    walk_all();
  }

  void walk_all() {
    for (const auto& [begin, block] : paths_.blocks()) {
      walk(begin);
      if (proof_.refusal != Refusal::None) return;
    }
  }

  /// False: it must begin again, as a call is now known not to return, or the function is refused.
  bool follow_paths() {
    paths_.restart();
    listing_.forget_blocks();
    ends_.forget();
    enter(proof_.start, State::at_entry(), 0);
    while (const auto begin = paths_.next()) {
      walk(*begin);
      if (proof_.refusal != Refusal::None || paths_.must_restart() || (is_reaching_ && steps_left_ == 0)) return false;
    }
    return true;
  }

  void refuse(Refusal refusal, std::uint64_t pc) {
    is_lost_ = true;
    if (is_reaching_ || proof_.refusal != Refusal::None) return;
    proof_.refusal = refusal;
    proof_.refused_at = pc;
  }

  /// The same of what a path does with this state, unless a call before it is to blame.
  void refuse(Refusal refusal, std::uint64_t pc, const State& state) {
    if (!is_final_ && !is_reaching_ && may_be_calls_fault(refusal, state.after_call) && paths_.blame_call(state)) {
      if (refusal == Refusal::ReturnNotAtEntry) ends_.blame_for_return();
      return;
    }
    refuse(refusal, pc);
  }

  /// A path comes to `pc` from the instruction at `from`.
  void enter(std::uint64_t pc, const State& state, std::uint64_t from, bool may_probe = false) {
    if (is_shown_) return;
    const bool is_doubted = may_begin_another(pc, state, from);
    if (is_doubted && !follows_a_call(state) && !is_reaching_) program_.is_label_after_all(pc);
    if (is_doubted && paths_.is_endless(from)) return;
    if (is_final_) return ways_out_.add_edge(walked_, from, pc);
    if (paths_.contains(pc) && !spend(1 + state.slots().size() / slots_per_step, pc)) return;
    State arriving = state;
    if (is_doubted && state.after_call == 0) arriving.after_call = from;
    switch (paths_.arrive(pc, arriving, from, may_probe)) {
      case Paths::Arrival::Known:
        break;
      case Paths::Arrival::New:
        // A walk that went on over this place did not know that another path comes here.
        if (listing_.has(pc)) {
          const std::uint64_t walked = listing_.at(pc).block;
          if (walked != 0 && walked != pc && paths_.contains(walked)) paths_.schedule(walked);
        }
        break;
      case Paths::Arrival::Conflict:
        if (is_reaching_) return paths_.lose(pc);
        return refuse(Refusal::ConflictingPaths, pc);
      case Paths::Arrival::TooMany:
        return refuse(Refusal::TooMuchCode, pc);
    }
  }

  /// Whether a path comes with a frame to an address that data or another function has: a function may begin there,
  /// which the path only seems to reach. A table of jumps knows where it leads.
  bool may_begin_another(std::uint64_t pc, const State& state, std::uint64_t from) {
    if (own_cfi_ != nullptr || from == 0 || pc == proof_.start || !program_.marks().is_taken(pc)) return false;
    const Instruction& before = listing_.at(from).instruction;
    const bool is_by_table = before.operation == Operation::Jump && !before.is_direct;
    return !is_by_table && !conditions::is_as_at_entry(state);
  }

  /// A direct jump, or a fall into other code.
  void go_to(std::uint64_t target, std::uint64_t pc, const State& state, bool may_probe = false) {
    if (is_reaching_ && program_.is_start(target) && !is_on_stack(state[rsp])) return;
    if (target == proof_.start || (!borders_.begins_another(target, state) && borders_.may_be_reached_by_jump(target) &&
                                   !borders_.is_import(target))) {
      if (borders_.is_inside_another(target)) proof_.jumps_inside_another = true;
      if (borders_.is_split_part(target)) {
        proof_.has_split_parts = true;
        if (!is_reaching_ && !program_.add_label(target, state[rsp])) return refuse(Refusal::ConflictingPaths, pc);
      }
      // It may be a function that others call. What this one has left below SP is nothing to it.
      State left = state;
      if (conditions::is_as_at_entry(state)) left.drop_below_stack_pointer();
      return enter(target, left, pc, may_probe);
    }
    if (!program_.image().is_code(target, 1)) return refuse(Refusal::OutsideCode, pc, state);
    if (!conditions::is_as_at_entry(state)) {
      if (is_reaching_) return enter(target, state, pc);
      program_.is_label_after_all(target);
      return refuse(Refusal::FlowsIntoFunction, pc, state);
    }
    leave_by_jump(pc, state);
    if (const auto import = borders_.import_at(target)) return ends_.jump_to(*import);
    ends_.jump_to(target);
  }

  /// In the last pass, a path ends with this state.
  void leave(std::uint64_t pc, const State& state) {
    if (is_final_ && !is_shown_) ways_out_.add_end(walked_, pc);
    if (is_final_) ends_.end_for_sure_with(state);
  }

  void leave_by_jump(std::uint64_t pc, const State& state) {
    leave(pc, state);
    ends_.jump_with(state);
  }

  void walk(std::uint64_t begin) {
    walked_ = begin;
    State state = paths_.at(begin).state;
    std::uint64_t before = paths_.at(begin).from;
    for (std::uint64_t pc = begin;;) {
      if (pc != begin && paths_.contains(pc)) return enter(pc, state, before);
      if (pc != begin && borders_.ends_at(pc)) return fall_out(pc, state, before);
      if (pc != begin && may_begin_another(pc, state, before)) return enter(pc, state, before);
      // 8: the call before does not return: what follows is a part of another function. But within this one, and where
      // a refused function may go, it is the other function whose jump may be none.
      const bool may_be_anothers = state.after_call != 0 && !is_reaching_ && !proof_.own.contains(pc);
      if (may_be_anothers && program_.is_anothers_label(pc, state[rsp])) return;
      if (!spend(1, pc)) return;
      Listing::Line& line = listing_.at(pc);
      if (line.instruction.size == 0)
        return refuse(program_.image().is_code(pc, 1) ? Refusal::Undecodable : Refusal::OutsideCode, pc, state);
      line.block = begin;
      line.is_after_call = state.after_call != 0;
      const Instruction instruction = line.instruction;
      if (is_final_ && !is_shown_ && !note(pc, instruction, before, state)) return;
      if (is_final_ && !is_shown_) note_pop(instruction, state);
      const std::uint64_t next = pc + instruction.size;
      const std::optional<State> shown = is_shown_ ? std::optional(state) : std::nullopt;
      is_lost_ = false;
      bool goes_on = step(instruction, pc, next, state);
      if (is_shown_) visit_(step_of(pc, instruction, goes_on, *shown), *shown);
      ends_.pass(instruction, state);
      if (is_reaching_ && is_lost_ && may_go_on(instruction)) {
        state = State();
        goes_on = true;
      }
      if (!goes_on) return;
      before = pc;
      pc = next;
    }
  }

  void fall_out(std::uint64_t pc, const State& state, std::uint64_t before) {
    if (is_reaching_ && !is_on_stack(state[rsp])) return;
    // Functions are aligned: after a call that does not return, one may begin without padding.
    const bool may_be_label = !follows_a_call(state) || pc % 16 != 0;
    if (own_cfi_ == nullptr && may_be_label && program_.is_start(pc) && !borders_.begins_another(pc, state))
      return enter(pc, state, before);
    if (state.after_call != 0) return;  // 8: the call before does not return
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
    program_.note_taken(pc, instruction);
    if (other_convention_at_ == 0 && conditions::takes_address_from_caller(instruction, state))
      other_convention_at_ = pc;
    if (own_cfi_ != nullptr && !mark(pc, instruction)) return false;
    const cfi::Function* const described = proof_.own.contains(pc) ? own_cfi_ : program_.described(pc);
    if (described == nullptr || !may_be_judged(*described)) return true;
    // CFI of a part that is called, in its own function's frame, counts from that one's CFA.
    if (proof_.start != described->start && proof_.own.contains(pc) && !is_entry_) return true;
    // Of code that has an entry of its own, this path knows nothing that counts.
    if (!proof_.own.contains(pc) && program_.is_start(described->start)) return true;
    if (!state.is_doubtful) compare_with_cfi(program_, *described, {pc, pc + instruction.size}, before, state, proof_);
    return true;
  }

  void note_pop(const Instruction& instruction, const State& state) {
    const Operand& into = instruction.operands[0];
    const bool is_pop = instruction.operation == Operation::Pop && into.kind == Operand::Kind::Register &&
                        into.reg == rbp && state[rsp].is(Value::Kind::Cfa);
    if (is_pop && is_callers_frame_pointer(state.load(state[rsp], 64)))
      popped_frame_pointers_.insert(state[rsp].number);
  }

  bool mark(std::uint64_t pc, const Instruction& instruction) {
    if (program_.marks().mark(pc, instruction.size)) return true;
    program_.note_overlap(pc);
    refuse(Refusal::OverlappingInstructions, pc);
    return false;
  }

  /// Whether only a way out shows that code is the function's.
  bool needs_way_out(std::uint64_t pc, bool is_after_call) const {
    return is_after_call || (own_cfi_ == nullptr && !proof_.own.contains(pc));
  }

  /// Of a function without CFI: what is not sure to be a part of it may be another one's.
  void mark_lines() {
    listing_.for_each([this](const Listing::Line& line) {
      const bool is_sure = !needs_way_out(line.pc, line.is_after_call) || ways_out_.lead_from(line.block, line.pc);
      if (line.block != 0 && is_sure && proof_.refusal == Refusal::None) mark(line.pc, line.instruction);
    });
  }

  /// False: no path goes on to `next`.
  bool step(const Instruction& instruction, std::uint64_t pc, std::uint64_t next, State& state) {
    switch (instruction.operation) {
      case Operation::Return:
        return_from(instruction, pc, state);
        return false;
      case Operation::Trap:
        ends_.end_the_program();
        return false;
      case Operation::Jump:
        jump(instruction, pc, state);
        return false;
      case Operation::ConditionalJump:
        branch(instruction, pc, state);
        return proof_.refusal == Refusal::None;
      case Operation::Call:
        return call(instruction, pc, next, state);
      case Operation::Nothing:
        return true;
      case Operation::SystemCall:
        if (conditions::ends_the_program(state[rax])) return ends_.end_the_program(), false;
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
    if (!conditions::stack_pointer_is_as_at_entry(state)) return refuse(Refusal::ReturnNotAtEntry, pc, state);
    if (!conditions::return_address_is_in_place(state)) return refuse(Refusal::ReturnAddressLost, pc);
    if (instruction.operands[0].kind == Operand::Kind::Immediate) return refuse(Refusal::CalleePops, pc);
    leave(pc, state);
    ends_.return_with(state);
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
      if (import && conditions::is_as_at_entry(state)) return leave_by_jump(pc, state), ends_.jump_to(*import);
    }
    const Value target = target_of(operand, state);
    if (target.is(Value::Kind::Constant)) return go_to_address(static_cast<std::uint64_t>(target.number), pc, state);
    if (target.is(Value::Kind::TableTarget) || target.is(Value::Kind::TableAddress)) {
      const JumpTargets table = read(target, state);
      if (!spend(table.entries, pc)) return;
      if (table.is_sound) {
        // 7: an entry that no number leads to holds the default, which may be never taken, too. Code without CFI is
        // judged there, so that a table makes no row that another path contradicts.
        State maybe = state;
        maybe.is_doubtful = maybe.is_doubtful || own_cfi_ != nullptr;
        for (const std::uint64_t to : table.targets) go_by_table(to, pc, proof_.own.contains(to) ? state : maybe);
        return;
      }
      const bool may_leave = conditions::is_as_at_entry(state) && !program_.options().bounded_tables_only;
      if (!may_leave) return refuse(Refusal::JumpTable, pc);
    }
    if (!conditions::is_as_at_entry(state)) return refuse(Refusal::IndirectJump, pc);
    leave(pc, state);
    ends_.jump_anywhere(state);
  }

  /// A jump to what a register has the address of. Without a frame, that is another function: musl's
  /// __libc_start_main() keeps its compiler from seeing which.
  void go_to_address(std::uint64_t target, std::uint64_t pc, const State& state) {
    const bool is_function = own_cfi_ == nullptr && conditions::is_as_at_entry(state) && !proof_.own.contains(target) &&
                             program_.is_undescribed(target) && !borders_.is_import(target);
    if (!is_function) return go_to(target, pc, state);
    leave_by_jump(pc, state);
    ends_.jump_to(target);
  }

  /// 7: where CFI says nothing, a way out shows that the entry is one.
  void go_by_table(std::uint64_t target, std::uint64_t pc, const State& state) {
    if (own_cfi_ != nullptr || is_reaching_) return go_to(target, pc, state);
    const std::uint64_t entry = Paths::table_entry_to(target);
    if (paths_.is_endless(entry)) return;
    State arriving = state;
    arriving.after_call = entry;
    go_to(target, pc, arriving);
  }

  Step step_of(std::uint64_t pc, const Instruction& instruction, bool goes_on, const State& state) {
    Step shown{pc, instruction, goes_on, {}, {}, {}, false};
    if (has_unfollowed_path_) shown.popped_frame_pointers = &popped_frame_pointers_;
    shown.may_be_anothers = needs_way_out(pc, state.after_call != 0) && !ways_out_.lead_from(walked_, pc);
    if (instruction.operation != Operation::Jump || instruction.is_direct) return shown;
    shown.table = target_of(instruction.operands[0], state);
    if (!shown.table.is(Value::Kind::TableTarget) && !shown.table.is(Value::Kind::TableAddress)) return shown;
    JumpTargets table = read(shown.table, state);
    if (table.is_sound) shown.targets = std::move(table.targets);
    return shown;
  }

  JumpTargets read(const Value& table, const State& state) {
    return tables_.read(table, state, [this](std::uint64_t steps) { return spend(steps, proof_.start); });
  }

  bool call(const Instruction& instruction, std::uint64_t pc, std::uint64_t next, State& state) {
    if (instruction.is_direct && instruction.target == next) {  // it only asks for its own address
      Instruction push;
      push.operation = Operation::Push;
      push.operands[0] = {.kind = Operand::Kind::Immediate, .bits = 64, .number = static_cast<std::int64_t>(next)};
      return apply(push, pc, state) == Refusal::None;
    }
    const Callee known = callees_.of(instruction, pc);
    const CalleeEffect& callee = known.effect;
    if (!callee.returns || paths_.is_endless(pc)) {
      if (!known.is_check) ends_.end_the_program();
      return false;
    }
    if (!conditions::callee_may_be_trusted(callee)) {
      refuse(Refusal::CalleeUnbalanced, pc);
      return false;
    }
    apply_call(callee, pc, state);
    const bool is_sure_to_return = known.is_sure_to_return || goes_on_with_own_values(next, state);
    if (!is_sure_to_return) state.after_call = pc;
    if (!is_sure_to_return && conditions::stack_pointer_is_as_at_entry(state)) state.may_be_another = true;
    if (is_final_ && !is_shown_ && !is_sure_to_return) calls_.push_back({pc, next});
    if (is_left_by_cfi(pc, next, state)) return false;
    if (is_sure_to_return || !borders_.may_begin_after_call(next, known.returns_twice)) return true;
    has_unfollowed_path_ = true;
    return false;
  }

  /// 8: whether the code after a call, at `next`, takes what this function has put into registers that calls keep.
  /// Another function would find its caller's values there. Only of functions that a program begins with, which do not
  /// return: parts that were split off would do so as well.
  bool goes_on_with_own_values(std::uint64_t next, const State& state) {
    constexpr int soon = 4;
    if (own_cfi_ != nullptr || !program_.is_of_begin(proof_.start)) return false;
    for (int i = 0; i < soon; ++i) {
      const Instruction instruction = listing_.at(next).instruction;
      if (instruction.operation != Operation::Move || instruction.size == 0) return false;
      const Operand& from = instruction.operands[1];
      if (from.kind == Operand::Kind::Register && from.reg < register_count && from.reg != rsp &&
          conditions::is_kept_over_calls(from.reg) && state[from.reg].is(Value::Kind::Defined))
        return true;
      next += instruction.size;
    }
    return false;
  }

  /// Whether CFI changes directly after a call, where no instruction changes anything, and not to what holds there: the
  /// compiler knew that the call does not return, and put another part of the function there.
  bool is_left_by_cfi(std::uint64_t pc, std::uint64_t next, const State& state) {
    const cfi::Function* const described = program_.described(pc);
    if (described == nullptr || next >= described->end()) return false;
    const cfi::RuleId after = rule_at(*described, next);
    if (after == rule_at(*described, pc)) return false;
    const bool is_left = is_strict_ || disagreement(program_.rules()[after], state).has_value();
    goes_on_to_other_cfi_ = goes_on_to_other_cfi_ || !is_left;
    return is_left;
  }

  /// What CFI says wrongly without calls that may not return is sure.
  std::vector<Disagreement> sure_disagreements() {
    const std::vector<std::uint64_t> calls = calls_that_may_not_return(calls_, listing_, ways_out_);
    if (calls.empty() && !goes_on_to_other_cfi_) return proof_.disagreements;
    const std::uint64_t steps = std::min(most_to_visit(proof_), program_.steps_left());
    PathFollower sure(program_, proof_.start, proof_.own, {}, steps);
    std::vector<Disagreement> found = sure.disagreements_without(calls);
    program_.spend(steps - sure.steps_left_);
    return found;
  }

  FunctionProof finish() {
    proof_.callees.assign(callees_.direct().begin(), callees_.direct().end());
    if (proof_.start == program_.image().header().e_entry && own_cfi_ == nullptr)
      for (const std::uint64_t callee : proof_.callees) program_.add_of_begin(callee);
    proof_.unbounded_tables.assign(tables_.unbounded().begin(), tables_.unbounded().end());
    // What a function takes the address of does not depend on its proof.
    if (proof_.refusal != Refusal::None && program_.options().proves_undescribed)
      listing_.for_each([this](const Listing::Line& line) { program_.note_taken(line.pc, line.instruction); });
    // Code without CFI that goes on in described code is proved by that as well.
    if (own_cfi_ == nullptr && !proof_.disagreements.empty())
      refuse(Refusal::ConflictingPaths, proof_.disagreements.front().pcs.begin);
    ends_.conclude(is_undescribed());
    // 4, 11: OCaml's functions, which have CFI, are known to do this. Haskell's do it as well, and do not return by the
    // stack.
    if (ends_.lose_frame_pointer() && is_undescribed()) refuse(Refusal::FramePointerLost, proof_.start);
    // Only now: its callers must know what else it changes.
    if (other_convention_at_ != 0 && is_undescribed()) refuse(Refusal::OtherConvention, other_convention_at_);
    if (!proof_.effect.keeps_frame_pointer)
      std::erase_if(proof_.disagreements,
                    [](const Disagreement& found) { return found.column == Disagreement::Column::FramePointer; });
    if (own_cfi_ != nullptr && !proof_.disagreements.empty() && program_.options().tells_doubted_apart)
      tell_doubted_apart(program_, paths_, sure_disagreements(), proof_);
    return std::move(proof_);
  }

  Program& program_;
  StepVisitor visit_;
  std::optional<std::uint64_t> most_steps_;
  Listing listing_;
  Borders borders_;
  Callees callees_;
  TableReader tables_;
  const cfi::Function* own_cfi_;  ///< null: CFI does not describe the function
  FunctionProof proof_;
  FunctionEnds ends_;
  Paths paths_;
  WaysOut ways_out_;
  std::vector<Range> calls_;  ///< that a path goes on after: the call, and where the next instruction begins
  std::uint64_t steps_left_ = 0;
  std::set<std::int64_t> popped_frame_pointers_;  ///< Step has it
  bool has_unfollowed_path_ = false;              ///< A call may be one of setjmp().
  bool is_entry_ = true;                          ///< as CFI has it, CFA = rsp + 8 at the start
  std::uint64_t walked_ = 0;                      ///< where the block begins that is walked
  bool is_final_ = false;                         ///< in the last pass
  bool is_shown_ = false;                         ///< in one more, for the visitor
  bool is_reaching_ = false;
  bool is_strict_ = false;
  bool goes_on_to_other_cfi_ = false;      ///< a path has gone on after a call, where CFI changes
  bool is_lost_ = false;                   ///< in reach(): what the last instruction has made of the state is not known
  std::uint64_t other_convention_at_ = 0;  ///< the first instruction that takes an address from a caller's register
};

}  // namespace

FunctionProof prove_function(Program& program, std::uint64_t start, const Range& own) {
  return PathFollower(program, start, own, {}).prove();
}

Reach reach_of(Program& program, const FunctionProof& function) {
  return PathFollower(program, function.start, function.own, {}, most_to_visit(function)).reach();
}

FunctionProof visit_steps(Program& program, const FunctionProof& function, const StepVisitor& visit) {
  return PathFollower(program, function.start, function.own, visit, most_to_visit(function)).prove();
}

}  // namespace sframe_gen::rows::proof
