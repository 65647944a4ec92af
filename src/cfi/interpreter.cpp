#include "cfi/interpreter.hpp"

#include <algorithm>

#include "cfi/fast_path.hpp"
#include "support/text.hpp"

namespace sframe_gen::cfi {

void RuleChange::apply(const Instruction& instruction, const Rules* initial) {
  switch (instruction.opcode) {
    case CfaOpcode::Offset:
    case CfaOpcode::OffsetExtended:
    case CfaOpcode::OffsetExtendedSf:
    case CfaOpcode::GnuNegativeOffsetExtended:
      return set(instruction.target, Formula{std::nullopt, instruction.offset, true});
    case CfaOpcode::ValOffset:
    case CfaOpcode::ValOffsetSf:
      return set(instruction.target, Formula{std::nullopt, instruction.offset, false});
    case CfaOpcode::Register:
      return set(instruction.target, Formula{instruction.source, 0, false});
    case CfaOpcode::Undefined:
      return set(instruction.target, Undefined{});
    case CfaOpcode::SameValue:
      return set(instruction.target, SameValue{});
    case CfaOpcode::Restore:
    case CfaOpcode::RestoreExtended:
      // In a CIE it is one that costs nothing: the interpreter has stopped at any other.
      if (initial != nullptr) restore(instruction.target, *initial);
      return;
    case CfaOpcode::AArch64NegateRaState:
      // Toggles a known state only: what an unknown one becomes is unknown too.
      if (rules_.signing == Signing::Unknown) return;
      rules_.signing = rules_.signing == Signing::Plain ? Signing::Signed : Signing::Plain;
      return;
    case CfaOpcode::AArch64NegateRaStateWithPc:
      rules_.signing = Signing::Unknown;
      return;
    default:
      return apply_cfa(instruction);
  }
}

void RuleChange::apply_expression(const Instruction& instruction, const ExpressionBytes& expression) {
  if (instruction.opcode == CfaOpcode::DefCfaExpression) {
    rules_.cfa = evaluate_cfa_expression(expression);
    cfa_is_expression_ = true;
    return;
  }
  if (instruction.target == tracked_.signing_state) return set(instruction.target, OtherExpression{});
  const auto value = evaluate_register_expression(expression);
  const auto* formula = std::get_if<Formula>(&value);
  const bool saved_there = instruction.opcode == CfaOpcode::Expression;
  if (formula == nullptr || (saved_there && formula->dereferenced)) return set(instruction.target, OtherExpression{});
  set(instruction.target, Formula{formula->base, formula->offset, formula->dereferenced || saved_there});
}

void RuleChange::apply_cfa(const Instruction& instruction) {
  if (instruction.opcode == CfaOpcode::DefCfa || instruction.opcode == CfaOpcode::DefCfaSf) {
    rules_.cfa = Formula{instruction.target, instruction.offset, false};
    cfa_is_expression_ = false;
    return;
  }
  // Both remaining opcodes are valid only while the rule is a register and an offset (DWARF 5, section 6.4.2.2).
  auto* formula = std::get_if<Formula>(&rules_.cfa);
  if (formula == nullptr || cfa_is_expression_) {
    rules_.cfa = UnknownReason::CfaRuleWithoutRegister;
  } else if (instruction.opcode == CfaOpcode::DefCfaRegister) {
    formula->base = instruction.target;
  } else {
    formula->offset = instruction.offset;
  }
}

void RuleChange::set(DwarfRegister number, const RegisterRule& rule) {
  // Compilers toggle the state; a rule of any other kind for it has not been seen.
  if (number == tracked_.signing_state) rules_.signing = Signing::Unknown;
  if (number == tracked_.frame_pointer) rules_.frame_pointer = rule;
  if (number == tracked_.return_address) rules_.return_address = rule;
  if (number == tracked_.stack_pointer) rules_.stack_pointer = rule;
}

void RuleChange::restore(DwarfRegister number, const Rules& initial) {
  if (number == tracked_.signing_state) rules_.signing = initial.signing;
  if (number == tracked_.frame_pointer) rules_.frame_pointer = initial.frame_pointer;
  if (number == tracked_.return_address) rules_.return_address = initial.return_address;
  if (number == tracked_.stack_pointer) rules_.stack_pointer = initial.stack_pointer;
}

namespace {

/// Addresses count modulo 2^64.
std::int64_t sum(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
}
std::int64_t difference(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) - static_cast<std::uint64_t>(b));
}

/// Counted from a register alone. Without a value where the CFA is in memory and so has none to count from.
std::optional<Formula> without_cfa(const Formula& formula, const Formula& cfa) {
  if (formula.base) return formula;
  if (!cfa.dereferenced) return Formula{cfa.base, sum(cfa.offset, formula.offset), formula.dereferenced};
  const bool is_cfa_itself = !formula.dereferenced && formula.offset == 0;
  return is_cfa_itself ? std::optional(cfa) : std::nullopt;
}

Formula normal_form(const Formula& formula, const Formula& cfa) {
  if (!formula.dereferenced) return without_cfa(formula, cfa).value_or(formula);
  if (!formula.base || formula.base != cfa.base || cfa.dereferenced) return formula;
  return {std::nullopt, difference(formula.offset, cfa.offset), true};
}

/// Calls `change` with each rule that is a formula.
template <typename Change>
void for_each_formula(Rules& rules, Change change) {
  for (RegisterRule* rule : {&rules.stack_pointer, &rules.frame_pointer, &rules.return_address}) {
    if (auto* formula = std::get_if<Formula>(rule)) change(*formula);
  }
}

}  // namespace

Rules normal_form(const Rules& rules) {
  Rules result = rules;
  const auto* cfa = std::get_if<Formula>(&rules.cfa);
  if (cfa == nullptr) return result;
  for_each_formula(result, [&](Formula& formula) { formula = normal_form(formula, *cfa); });
  return result;
}

std::optional<Rules> counted_from_stack_pointer(const Rules& rules, const Formula& stack_pointer, std::int64_t bias) {
  const auto* cfa = std::get_if<Formula>(&rules.cfa);
  if (cfa == nullptr) return std::nullopt;
  const auto caller = without_cfa(stack_pointer, *cfa);
  if (!caller || (caller->dereferenced && bias != 0)) return std::nullopt;
  Rules result = rules;
  result.stack_pointer = Unspecified{};
  result.cfa = Formula{caller->base, difference(caller->offset, bias), caller->dereferenced};
  bool counted = true;
  for_each_formula(result, [&](Formula& formula) {
    const auto alone = without_cfa(formula, *cfa);
    counted = counted && alone;
    if (alone) formula = *alone;
  });
  return counted ? std::optional(normal_form(result)) : std::nullopt;
}

namespace {

bool counts_from_frame(const Rules& rules, const TrackedRegisters& tracked) {
  const auto* cfa = std::get_if<Formula>(&rules.cfa);
  return cfa != nullptr && !cfa->dereferenced &&
         (cfa->base == tracked.stack_pointer || cfa->base == tracked.frame_pointer);
}

bool is_at_entry(const Rules& rules, const TrackedRegisters& tracked) {
  const RegisterRule& rule = rules.stack_pointer;
  const bool unchanged = std::holds_alternative<Unspecified>(rule) || std::holds_alternative<SameValue>(rule);
  return unchanged && rules.cfa == CfaRule(Formula{tracked.stack_pointer, tracked.entry_cfa_offset, false});
}

/// In a register, or in a slot of the frame. What else it may be proves that something else is going on.
bool keeps_callers_value(const RegisterRule& rule) {
  const auto* formula = std::get_if<Formula>(&rule);
  return formula != nullptr && (formula->base ? !formula->dereferenced && formula->offset == 0 : formula->dereferenced);
}

}  // namespace

void drop_proven_stack_pointers(std::vector<NumberedRow>& rows, NumberedRules& rules, const TrackedRegisters& tracked) {
  const auto keeps = [&](const NumberedRow& row) { return keeps_callers_value(rules[row.rules].stack_pointer); };
  if (std::ranges::none_of(rows, keeps)) return;
  const auto from_frame = [&](const NumberedRow& row) { return counts_from_frame(rules[row.rules], tracked); };
  const auto at_entry = [&](const NumberedRow& row) { return is_at_entry(rules[row.rules], tracked); };
  if (!std::ranges::all_of(rows, from_frame) || std::ranges::none_of(rows, at_entry)) return;
  for (NumberedRow& row : rows) {
    if (!keeps(row)) continue;
    Rules without = rules[row.rules];
    without.stack_pointer = Unspecified{};
    row.rules = rules.number_of(without);
  }
  const auto same = [](const NumberedRow& a, const NumberedRow& b) { return a.rules == b.rules; };
  rows.erase(std::unique(rows.begin(), rows.end(), same), rows.end());
}

namespace {

/// Bytes. Compilers write seven. They are run anew each time that rules are forgotten.
constexpr std::size_t longest_initial_instructions = 8192;

bool is_expression(CfaOpcode opcode) {
  return opcode == CfaOpcode::Expression || opcode == CfaOpcode::ValExpression || opcode == CfaOpcode::DefCfaExpression;
}

/// Its target is the register that it sets a rule for, not the CFA's.
bool is_about_register(CfaOpcode opcode) {
  switch (opcode) {
    case CfaOpcode::Offset:
    case CfaOpcode::OffsetExtended:
    case CfaOpcode::OffsetExtendedSf:
    case CfaOpcode::GnuNegativeOffsetExtended:
    case CfaOpcode::ValOffset:
    case CfaOpcode::ValOffsetSf:
    case CfaOpcode::Register:
    case CfaOpcode::Undefined:
    case CfaOpcode::SameValue:
    case CfaOpcode::Restore:
    case CfaOpcode::RestoreExtended:
    case CfaOpcode::Expression:
    case CfaOpcode::ValExpression:
      return true;
    default:
      return false;
  }
}

}  // namespace

CfiInterpreter::CfiInterpreter(const FrameTable& table, const TrackedRegisters& tracked, NumberedRules& rules)
    : table_(table),
      tracked_(tracked),
      rules_(rules),
      generation_(rules.generation()),
      usual_(tracked),
      initial_states_(table.cies.size()) {}

void CfiInterpreter::run(const Fde& fde, std::vector<NumberedRow>& rows) {
  rows.clear();
  keep_up_with_generation();
  const Cie& cie = table_.cies[fde.cie_index];
  const InitialState& initial = initial_state(fde.cie_index);
  state_ = static_cast<const RuleState&>(initial);
  remembered_.clear();
  if (!initial.remembered.empty()) remembered_ = initial.remembered;
  if (cie.return_address != tracked_.return_address) {
    rows.push_back({0, unknown(UnknownReason::ForeignReturnColumn)});
    return;
  }
  if (cie.has_unknown_letters) {
    rows.push_back({0, unknown(UnknownReason::UnknownAugmentation)});
    return;
  }
  // What the rest of the CIE says is lost, so the FDE's own rules, even a new CFA, are not all there is.
  if (const auto* reason = std::get_if<UnknownReason>(&rules_[initial.rules].cfa);
      reason != nullptr && *reason != UnknownReason::CfaRuleWithoutRegister) {
    rows.push_back({0, unknown(*reason)});
    return;
  }
  try {
    execute_fde(fde, initial, rows);
  } catch (const MalformedInput&) {
    // Whoever wrote this meant something else: the rows before it are no better than those behind.
    rows.assign(1, {0, unknown(UnknownReason::MalformedFde)});
    return;
  }
  while (!rows.empty() && rows.back().pc_offset >= fde.function_size) rows.pop_back();
  if (tracked_.entry_cfa_offset != 0 && !cie.signal_frame) drop_proven_stack_pointers(rows, rules_, tracked_);
}

void CfiInterpreter::keep_up_with_generation() {
  if (generation_ == rules_.generation()) return;
  generation_ = rules_.generation();
  steps_.forget();
  initial_states_.assign(table_.cies.size(), {});
}

const CfiInterpreter::InitialState& CfiInterpreter::initial_state(std::uint32_t cie_index) {
  InitialState& initial = initial_states_[cie_index];
  if (!initial.is_known) {
    const Cie& cie = table_.cies[cie_index];
    state_ = {rules_.number_of({}), false};
    remembered_.clear();
    Progress progress{0, 0, true};
    ByteReader reader = reader_of(cie.initial_instructions);
    try {
      if (reader.left() > longest_initial_instructions) reader.fail("more initial instructions than can be followed");
      while (!reader.at_end() && execute_one(reader, context_of(cie), progress, nullptr, nullptr)) {
      }
    } catch (const MalformedInput&) {
      state_.rules = unknown(UnknownReason::MalformedFde);
    }
    static_cast<RuleState&>(initial) = state_;
    initial.remembered = remembered_;
    initial.is_known = true;
  }
  return initial;
}

/// DW_CFA_restore goes back to what the CIE says, which says nothing inside the CIE: libgcc takes it for "same value"
/// and others for other things. Of a column that no row speaks of, it costs nothing. Seen in libnvrtc of CUDA 13.
bool CfiInterpreter::restores_our_column(const Instruction& instruction) const {
  if (instruction.opcode != CfaOpcode::Restore && instruction.opcode != CfaOpcode::RestoreExtended) return false;
  return follows(tracked_, instruction.target);
}

InstructionContext CfiInterpreter::context_of(const Cie& cie) const {
  return {cie.code_alignment, cie.data_alignment, cie.pointer_encoding, table_.section_address,
          tracked_.signing_state.has_value()};
}

ByteReader CfiInterpreter::reader_of(std::span<const std::byte> instructions) const {
  return {instructions, table_.endian, table_.origin, table_.offset_of(instructions)};
}

void CfiInterpreter::execute_fde(const Fde& fde, const RuleState& initial, std::vector<NumberedRow>& rows) {
  const Cie& cie = table_.cies[fde.cie_index];
  const InstructionContext context = context_of(cie);
  Progress progress{fde.function_start, 0, false};
  ByteReader reader = reader_of(fde.instructions);
  while (follow_usual(reader, fde, progress, rows), !reader.at_end()) {
    const KnownSteps::Step step = usual_step(reader.rest(), usual_, state_, fde.cie_index);
    if (!execute_one(reader, context, progress, &initial, &rows)) break;
    if (step != 0 && KnownSteps::has_state(state_, fde.cie_index))
      steps_.put(step, KnownSteps::state_of(state_, fde.cie_index));
    if (rules_.size() > most_rules) reader.fail("more different rules than can be kept");
  }
  advance_to(fde.function_size, progress, &rows);
}

void CfiInterpreter::follow_usual(ByteReader& reader, const Fde& fde, Progress& progress,
                                  std::vector<NumberedRow>& rows) {
  UsualWalk walk{reader.rest(), table_.endian,     table_.cies[fde.cie_index].code_alignment,
                 fde.cie_index, progress.location, state_};
  reader.skip(cfi::follow_usual(walk, usual_, steps_, remembered_, rows));
  progress.location = walk.location;
  state_ = walk.state;
}

/// Gives false where nothing behind the instruction can be known.
bool CfiInterpreter::execute_one(ByteReader& reader, const InstructionContext& context, Progress& progress,
                                 const RuleState* initial, std::vector<NumberedRow>* rows) {
  const std::uint64_t at = reader.offset();
  const Instruction instruction = read_instruction(reader, context);
  if (!instruction.known || (progress.in_cie && restores_our_column(instruction))) {
    Rules rules = rules_[state_.rules];
    rules.cfa = UnknownReason::UnknownInstruction;
    state_.rules = rules_.number_of(rules);
    return false;
  }
  switch (instruction.opcode) {
    case CfaOpcode::AdvanceLoc:
    case CfaOpcode::AdvanceLoc1:
    case CfaOpcode::AdvanceLoc2:
    case CfaOpcode::AdvanceLoc4:
    case CfaOpcode::MipsAdvanceLoc8: {
      std::uint64_t location = 0;
      if (__builtin_add_overflow(progress.location, instruction.advance, &location))
        reader.fail(at, "location advance does not fit in 64 bits");
      if (progress.in_cie) reader.fail(at, "initial instructions advance the location");
      advance_to(location, progress, rows);
      break;
    }
    case CfaOpcode::SetLoc:
      if (progress.in_cie) reader.fail(at, "initial instructions set the location");
      if (instruction.location < progress.start + progress.location) {
        reader.fail(at, "DW_CFA_set_loc goes back to " + hex(instruction.location) + " from " +
                            hex(progress.start + progress.location));
      }
      advance_to(instruction.location - progress.start, progress, rows);
      break;
    default:
      apply(instruction, reader, initial);
  }
  return true;
}

/// Closes the row at the current location. Several instructions at one location give one row.
void CfiInterpreter::advance_to(std::uint64_t location, Progress& progress, std::vector<NumberedRow>* rows) {
  if (location == progress.location) return;
  if (rows->empty() || rows->back().rules != state_.rules) rows->push_back({progress.location, state_.rules});
  progress.location = location;
}

void CfiInterpreter::apply(const Instruction& instruction, ByteReader& reader, const RuleState* initial) {
  switch (instruction.opcode) {
    case CfaOpcode::Nop:
    case CfaOpcode::GnuArgsSize:
      return;
    case CfaOpcode::RememberState:
      return remember(reader);
    case CfaOpcode::RestoreState:
      return restore_state(reader);
    default:
      change_rules(instruction, initial);
  }
}

/// `initial` null: in a CIE.
void CfiInterpreter::change_rules(const Instruction& instruction, const RuleState* initial) {
  if (is_about_register(instruction.opcode) && !follows(tracked_, instruction.target)) return;
  RuleChange change(tracked_, rules_[state_.rules], state_.cfa_is_expression);
  if (is_expression(instruction.opcode)) {
    change.apply_expression(instruction, {instruction.block, instruction.block_offset, table_.endian, table_.origin});
  } else {
    change.apply(instruction, initial == nullptr ? nullptr : &rules_[initial->rules]);
  }
  state_ = {rules_.number_of(change.rules()), change.cfa_is_expression()};
}

void CfiInterpreter::remember(ByteReader& reader) {
  if (remembered_.size() == most_remembered) reader.fail(reader.offset() - 1, "DW_CFA_remember_state nests too deep");
  remembered_.push_back(state_);
}

void CfiInterpreter::restore_state(ByteReader& reader) {
  if (remembered_.empty()) reader.fail(reader.offset() - 1, "DW_CFA_restore_state has no state to restore");
  state_ = remembered_.back();
  remembered_.pop_back();
}

}  // namespace sframe_gen::cfi
