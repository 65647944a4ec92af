#include "cfi/cfi_interpreter.hpp"

#include "cfi/expression.hpp"
#include "cfi/stack_pointer_proof.hpp"
#include "support/text.hpp"

namespace sframe_gen::cfi {

namespace {

/// Compilers nest one deep, people a few. Each takes a hundred times the byte that asks for it.
constexpr std::size_t most_remembered = 4096;

}  // namespace

CfiInterpreter::CfiInterpreter(const FrameTable& table, const TrackedRegisters& tracked)
    : table_(table), tracked_(tracked), initial_states_(table.cies.size()), initial_known_(table.cies.size()) {}

void CfiInterpreter::run(const Fde& fde, std::vector<FrameRow>& rows) {
  rows.clear();
  const Cie& cie = table_.cies[fde.cie_index];
  const InitialState& initial = initial_state(fde.cie_index);
  state_ = static_cast<const State&>(initial);
  changed_ = true;
  remembered_ = initial.remembered;
  if (cie.return_address != tracked_.return_address) {
    rows.push_back({0, {UnknownReason::ForeignReturnColumn, {}, {}, {}}});
    return;
  }
  if (cie.has_unknown_letters) {
    rows.push_back({0, {UnknownReason::UnknownAugmentation, {}, {}, {}}});
    return;
  }
  // What the rest of the CIE says is lost, so the FDE's own rules, even a new CFA, are not all there is.
  if (const auto* reason = std::get_if<UnknownReason>(&initial.rules.cfa);
      reason != nullptr && *reason != UnknownReason::CfaRuleWithoutRegister) {
    rows.push_back({0, {*reason, {}, {}, {}}});
    return;
  }
  try {
    Progress progress{fde.function_start, 0, false};
    execute(fde.instructions, cie, progress, &initial, &rows);
    advance_to(fde.function_size, progress, &rows);
  } catch (const MalformedInput&) {
    // Whoever wrote this meant something else: the rows before it are no better than those behind.
    rows.assign(1, {0, {UnknownReason::MalformedFde, {}, {}, {}}});
    return;
  }
  while (!rows.empty() && rows.back().pc_offset >= fde.function_size) rows.pop_back();
  if (tracked_.entry_cfa_offset != 0 && !cie.signal_frame) drop_proven_stack_pointers(rows, tracked_);
}

const CfiInterpreter::InitialState& CfiInterpreter::initial_state(std::uint32_t cie_index) {
  InitialState& initial = initial_states_[cie_index];
  if (!initial_known_[cie_index]) {
    const Cie& cie = table_.cies[cie_index];
    state_ = {};
    remembered_.clear();
    Progress progress{0, 0, true};
    try {
      execute(cie.initial_instructions, cie, progress, nullptr, nullptr);
    } catch (const MalformedInput&) {
      state_.rules = {UnknownReason::MalformedFde, {}, {}, {}};
    }
    static_cast<State&>(initial) = state_;
    initial.remembered = remembered_;
    initial_known_[cie_index] = true;
  }
  return initial;
}

/// DW_CFA_restore goes back to what the CIE says, which says nothing inside the CIE: libgcc takes it for "same value"
/// and others for other things. Of a column that no row speaks of, it costs nothing. Seen in libnvrtc of CUDA 13.
bool CfiInterpreter::restores_our_column(const Instruction& instruction) {
  if (instruction.opcode != CfaOpcode::Restore && instruction.opcode != CfaOpcode::RestoreExtended) return false;
  return column(instruction.target) != nullptr || instruction.target == tracked_.signing_state;
}

void CfiInterpreter::execute(std::span<const std::byte> instructions, const Cie& cie, Progress& progress,
                             const State* initial, std::vector<FrameRow>* rows) {
  const InstructionContext context{cie.code_alignment, cie.data_alignment, cie.pointer_encoding, table_.section_address,
                                   tracked_.signing_state.has_value()};
  ByteReader reader(instructions, table_.endian, table_.origin, table_.offset_of(instructions));
  while (!reader.at_end()) {
    const std::uint64_t at = reader.offset();
    const Instruction instruction = read_instruction(reader, context);
    if (!instruction.known || (progress.in_cie && restores_our_column(instruction))) {
      state_.rules.cfa = UnknownReason::UnknownInstruction;
      changed_ = true;
      return;
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
  }
}

/// Closes the row at the current location. Several instructions at one location give one row.
void CfiInterpreter::advance_to(std::uint64_t location, Progress& progress, std::vector<FrameRow>* rows) {
  if (location == progress.location) return;
  if (changed_ && (rows->empty() || rows->back().rules != state_.rules))
    rows->push_back({progress.location, state_.rules});
  changed_ = false;
  progress.location = location;
}

void CfiInterpreter::apply(const Instruction& instruction, ByteReader& reader, const State* initial) {
  switch (instruction.opcode) {
    case CfaOpcode::Nop:
    case CfaOpcode::GnuArgsSize:
      return;
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
      // In a CIE it is one that costs nothing: execute() has stopped at any other.
      if (initial != nullptr) restore(instruction.target, *initial);
      return;
    case CfaOpcode::AArch64NegateRaState:
      // Toggles a known state only: what an unknown one becomes is unknown too.
      if (state_.rules.signing == Signing::Unknown) return;
      return set_signing(state_.rules.signing == Signing::Plain ? Signing::Signed : Signing::Plain);
    case CfaOpcode::AArch64NegateRaStateWithPc:
      return set_signing(Signing::Unknown);
    case CfaOpcode::RememberState:
      return remember(reader);
    case CfaOpcode::RestoreState:
      return restore_state(reader);
    case CfaOpcode::Expression:
    case CfaOpcode::ValExpression:
    case CfaOpcode::DefCfaExpression:
      return apply_expression(instruction);
    default:
      return apply_cfa(instruction);
  }
}

void CfiInterpreter::apply_cfa(const Instruction& instruction) {
  changed_ = true;
  CfaRule& cfa = state_.rules.cfa;
  if (instruction.opcode == CfaOpcode::DefCfa || instruction.opcode == CfaOpcode::DefCfaSf) {
    cfa = Formula{instruction.target, instruction.offset, false};
    state_.cfa_is_expression = false;
    return;
  }
  // Both remaining opcodes are valid only while the rule is a register and an offset (DWARF 5, section 6.4.2.2).
  auto* formula = std::get_if<Formula>(&cfa);
  if (formula == nullptr || state_.cfa_is_expression) {
    cfa = UnknownReason::CfaRuleWithoutRegister;
  } else if (instruction.opcode == CfaOpcode::DefCfaRegister) {
    formula->base = instruction.target;
  } else {
    formula->offset = instruction.offset;
  }
}

void CfiInterpreter::apply_expression(const Instruction& instruction) {
  const ExpressionBytes expression{instruction.block, instruction.block_offset, table_.endian, table_.origin};
  if (instruction.opcode == CfaOpcode::DefCfaExpression) {
    changed_ = true;
    state_.rules.cfa = evaluate_cfa_expression(expression);
    state_.cfa_is_expression = true;
    return;
  }
  if (instruction.target == tracked_.signing_state) return set_signing(Signing::Unknown);
  if (column(instruction.target) == nullptr) return;
  const auto value = evaluate_register_expression(expression);
  const auto* formula = std::get_if<Formula>(&value);
  const bool saved_there = instruction.opcode == CfaOpcode::Expression;
  if (formula == nullptr || (saved_there && formula->dereferenced)) return set(instruction.target, OtherExpression{});
  set(instruction.target, Formula{formula->base, formula->offset, formula->dereferenced || saved_there});
}

void CfiInterpreter::remember(ByteReader& reader) {
  if (remembered_.size() == most_remembered) reader.fail(reader.offset() - 1, "DW_CFA_remember_state nests too deep");
  remembered_.push_back(state_);
}

void CfiInterpreter::restore_state(ByteReader& reader) {
  if (remembered_.empty()) reader.fail(reader.offset() - 1, "DW_CFA_restore_state has no state to restore");
  changed_ = true;
  state_ = remembered_.back();
  remembered_.pop_back();
}

RegisterRule* CfiInterpreter::column(DwarfRegister number) {
  if (number == tracked_.frame_pointer) return &state_.rules.frame_pointer;
  if (number == tracked_.return_address) return &state_.rules.return_address;
  if (number == tracked_.stack_pointer) return &state_.rules.stack_pointer;
  return nullptr;
}

void CfiInterpreter::set_signing(Signing signing) {
  state_.rules.signing = signing;
  changed_ = true;
}

void CfiInterpreter::set(DwarfRegister number, const RegisterRule& rule) {
  // Compilers toggle the state; a rule of any other kind for it has not been seen.
  if (number == tracked_.signing_state) return set_signing(Signing::Unknown);
  RegisterRule* const place = column(number);
  if (place == nullptr) return;
  *place = rule;
  changed_ = true;
}

void CfiInterpreter::restore(DwarfRegister number, const State& initial) {
  changed_ = changed_ || column(number) != nullptr;
  if (number == tracked_.frame_pointer) state_.rules.frame_pointer = initial.rules.frame_pointer;
  if (number == tracked_.return_address) state_.rules.return_address = initial.rules.return_address;
  if (number == tracked_.stack_pointer) state_.rules.stack_pointer = initial.rules.stack_pointer;
  if (number == tracked_.signing_state) set_signing(initial.rules.signing);
}

}  // namespace sframe_gen::cfi
