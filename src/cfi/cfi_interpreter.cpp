#include "cfi/cfi_interpreter.hpp"

#include "cfi/rule_change.hpp"
#include "cfi/stack_pointer_proof.hpp"
#include "cfi/usual_walk.hpp"
#include "support/text.hpp"

namespace sframe_gen::cfi {

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
