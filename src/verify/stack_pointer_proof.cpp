#include "verify/stack_pointer_proof.hpp"

namespace sframe_gen::verify {

namespace {

bool walk(const DwarfSession& session, std::size_t fde_index, const sframe::AbiTraits& abi) {
  const cfi::Fde& fde = session.table().fdes[fde_index];
  if (abi.stack_pointer_bias == 0 || session.table().cies[fde.cie_index].signal_frame) return false;
  const std::uint64_t end = fde.function_start + fde.function_size;
  const auto sp_column = static_cast<std::uint16_t>(abi.stack_pointer);
  bool seen_entry = false;
  for (std::uint64_t pc = fde.function_start; pc < end;) {
    const EvaluatedRule cfa = session.evaluate(fde_index, DwarfSession::cfa_column, pc);
    const bool plain = cfa.kind == EvaluatedRule::Kind::Offset && cfa.offset_relevant;
    if (!plain || (cfa.base != abi.stack_pointer && cfa.base != abi.frame_pointer)) return false;
    if (cfa.base == abi.stack_pointer && cfa.offset == -abi.stack_pointer_bias) {
      const EvaluatedRule sp = session.evaluate(fde_index, sp_column, pc);
      seen_entry = seen_entry || (sp.kind == EvaluatedRule::Kind::Offset && !sp.offset_relevant &&
                                  sp.base == DwarfSession::same_value_column);
    }
    if (!cfa.next_row_pc || *cfa.next_row_pc <= pc) break;
    pc = *cfa.next_row_pc;
  }
  return seen_entry;
}

}  // namespace

bool StackPointerProofs::holds(const DwarfSession& session, std::size_t fde_index, const sframe::AbiTraits& abi) {
  if (!last_ || last_->session != &session || last_->fde_index != fde_index)
    last_ = {&session, fde_index, walk(session, fde_index, abi)};
  return last_->holds;
}

}  // namespace sframe_gen::verify
