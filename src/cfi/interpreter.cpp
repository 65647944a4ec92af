#include "cfi/interpreter.hpp"

#include <algorithm>
#include <cassert>

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

/// Bytes. Compilers write seven.
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

void drop_proven_stack_pointers(std::vector<Row>& rows, RuleTable& rules, const TrackedRegisters& tracked) {
  const auto keeps = [&](const Row& row) { return keeps_callers_value(rules[row.rule].stack_pointer); };
  if (std::ranges::none_of(rows, keeps)) return;
  const auto from_frame = [&](const Row& row) { return counts_from_frame(rules[row.rule], tracked); };
  const auto at_entry = [&](const Row& row) { return is_at_entry(rules[row.rule], tracked); };
  if (!std::ranges::all_of(rows, from_frame) || std::ranges::none_of(rows, at_entry)) return;
  for (Row& row : rows) {
    if (!keeps(row)) continue;
    Rules without = rules[row.rule];
    without.stack_pointer = Unspecified{};
    row.rule = rules.intern(without);
  }
  const auto same = [](const Row& a, const Row& b) { return a.rule == b.rule; };
  rows.erase(std::unique(rows.begin(), rows.end(), same), rows.end());
}

CfiInterpreter::CfiInterpreter(const FrameTable& table, const TrackedRegisters& tracked, RuleTable& rules, Paths paths)
    : table_(table),
      tracked_(tracked),
      rules_(rules),
      paths_(paths),
      fast_path_(tracked),
      initial_states_(table.cies.size()) {}

void CfiInterpreter::run(const Fde& fde, Range pcs, std::vector<Row>& rows) {
  assert(pcs.size() <= UINT32_MAX);
  const Cie& cie = table_.cies[fde.cie_index];
  const InitialState& initial = initial_state(fde.cie_index);
  const auto only_row = [&](UnknownReason reason) { rows.assign(1, {0, unknown(reason)}); };
  if (initial.hidden) return only_row(*initial.hidden);
  is_plain_ = initial.is_plain;
  progress_.location = 0;
  progress_.state = initial.state;
  progress_.remembered.assign(initial.remembered.begin(), initial.remembered.end());
  progress_.pcs = pcs;
  progress_.rows.swap(rows);
  progress_.rows.clear();
  try {
    execute_fde(fde, initial.state);
  } catch (const MalformedInput&) {
    // The rows before the fault are no better than those after it: the writer meant something else.
    return only_row(UnknownReason::MalformedFde);
  }
  rows.swap(progress_.rows);
  const bool has_all_rows = pcs.begin == 0 && pcs.end >= fde.function_size;
  if (tracked_.entry_cfa_offset != 0 && !cie.signal_frame && has_all_rows && is_plain_)
    drop_proven_stack_pointers(rows, rules_, tracked_);
}

const CfiInterpreter::InitialState& CfiInterpreter::initial_state(std::uint32_t cie_index) {
  InitialState& initial = initial_states_[cie_index];
  if (initial.is_known) return initial;
  const Cie& cie = table_.cies[cie_index];
  progress_ = {0, {rules_.intern({}), false}, {}, {}, {}};
  is_plain_ = true;
  ByteReader reader = reader_of(cie.initial_instructions);
  try {
    if (reader.left() > longest_initial_instructions) reader.fail("more initial instructions than can be followed");
    while (!reader.at_end() && execute_one(reader, {cie})) {
    }
  } catch (const MalformedInput&) {
    progress_.state.rule = unknown(UnknownReason::MalformedFde);
  }
  initial = {true, progress_.state, std::move(progress_.remembered), why_hidden(cie), is_plain_};
  return initial;
}

/// At the end of the CIE's instructions.
std::optional<UnknownReason> CfiInterpreter::why_hidden(const Cie& cie) const {
  if (cie.return_address != tracked_.return_address) return UnknownReason::ForeignReturnColumn;
  if (cie.has_unknown_letters) return UnknownReason::UnknownAugmentation;
  // What the rest of the CIE says is lost, so the FDE's own rules, even a new CFA, are not all there is.
  const auto* const reason = std::get_if<UnknownReason>(&rules_[progress_.state.rule].cfa);
  if (reason == nullptr || *reason == UnknownReason::CfaRuleWithoutRegister) return std::nullopt;
  return *reason;
}

/// DW_CFA_restore goes back to what the CIE says, which says nothing inside the CIE: libgcc takes it for "same value"
/// and others for other things. For a column that rows do not use, this costs nothing. Seen in libnvrtc of CUDA 13.
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

void CfiInterpreter::execute_fde(const Fde& fde, const RuleState& initial) {
  const Block block{table_.cies[fde.cie_index], fde.function_start, &initial};
  ByteReader reader = reader_of(table_.instructions_of(fde));
  // Shorter ones cannot make as many rules.
  const bool counts_rules = reader.left() >= most_rules;
  if (paths_ == Paths::Both && !counts_rules) execute_fast(fde, block, reader);
  std::vector<bool> met(counts_rules ? RuleTable::most_rules : 0);
  std::size_t rules_met = 0;
  while (!reader.at_end() && execute_one(reader, block)) {
    if (!counts_rules || met[progress_.state.rule]) continue;
    met[progress_.state.rule] = true;
    if (++rules_met == most_rules) reader.fail("more different rules than can be kept");
  }
  progress_.advance_to(fde.function_size);
}

void CfiInterpreter::execute_fast(const Fde& fde, const Block& block, ByteReader& reader) {
  const auto change = [&](std::span<const std::byte> bytes, RuleId before) {
    ByteReader one = reader_of(bytes);
    return changed({before, false}, read_instruction(one, context_of(block.cie)), block).rule;
  };
  reader.skip(fast_path_.run(table_.instructions_of(fde), table_.endian, block.cie, fde.cie_index, change, progress_));
}

/// Gives false where nothing after the instruction can be known.
bool CfiInterpreter::execute_one(ByteReader& reader, const Block& block) {
  const std::uint64_t at = reader.offset();
  const bool in_cie = block.initial_state == nullptr;
  const Instruction instruction = read_instruction(reader, context_of(block.cie));
  if (!instruction.known || (in_cie && restores_our_column(instruction))) {
    Rules rules = rules_[progress_.state.rule];
    rules.cfa = UnknownReason::UnknownInstruction;
    is_plain_ = false;
    progress_.state.rule = rules_.intern(rules);
    return false;
  }
  switch (instruction.opcode) {
    case CfaOpcode::AdvanceLoc:
    case CfaOpcode::AdvanceLoc1:
    case CfaOpcode::AdvanceLoc2:
    case CfaOpcode::AdvanceLoc4:
    case CfaOpcode::MipsAdvanceLoc8: {
      std::uint64_t location = 0;
      if (__builtin_add_overflow(progress_.location, instruction.advance, &location))
        reader.fail(at, "location advance does not fit in 64 bits");
      if (in_cie) reader.fail(at, "initial instructions advance the location");
      progress_.advance_to(location);
      break;
    }
    case CfaOpcode::SetLoc: {
      if (in_cie) reader.fail(at, "initial instructions set the location");
      const std::uint64_t here = block.function_start + progress_.location;
      if (instruction.location < here)
        reader.fail(at, "DW_CFA_set_loc goes back to " + hex(instruction.location) + " from " + hex(here));
      progress_.advance_to(instruction.location - block.function_start);
      break;
    }
    case CfaOpcode::Nop:
    case CfaOpcode::GnuArgsSize:
      break;
    case CfaOpcode::RememberState:
      if (progress_.remembered.size() == most_remembered) reader.fail(at, "DW_CFA_remember_state nests too deep");
      progress_.remembered.push_back(progress_.state);
      break;
    case CfaOpcode::RestoreState:
      if (progress_.remembered.empty()) reader.fail(at, "DW_CFA_restore_state has no state to restore");
      progress_.state = progress_.remembered.back();
      progress_.remembered.pop_back();
      break;
    default:
      progress_.state = changed(progress_.state, instruction, block);
  }
  return true;
}

/// Of an instruction with an expression.
bool CfiInterpreter::gives_cfa_or_stack_pointer(const Instruction& instruction) const {
  return instruction.opcode == CfaOpcode::DefCfaExpression || instruction.target == tracked_.stack_pointer;
}

RuleState CfiInterpreter::changed(const RuleState& before, const Instruction& instruction, const Block& block) {
  if (is_about_register(instruction.opcode) && !follows(tracked_, instruction.target)) return before;
  RuleChange change(tracked_, rules_[before.rule], before.cfa_is_expression);
  if (is_expression(instruction.opcode)) {
    is_plain_ = is_plain_ && !gives_cfa_or_stack_pointer(instruction);
    change.apply_expression(instruction, {instruction.block, instruction.block_offset, table_.endian, table_.origin});
  } else {
    change.apply(instruction, block.initial_state == nullptr ? nullptr : &rules_[block.initial_state->rule]);
  }
  return {rules_.intern(change.rules()), change.cfa_is_expression()};
}

}  // namespace sframe_gen::cfi
