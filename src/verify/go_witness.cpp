#include "verify/go_witness.hpp"

#include <algorithm>

namespace sframe_gen::verify {

std::optional<std::uint64_t> GoWitness::judge(const JudgedRow& row, const Range& pcs, Testimony& testimony) {
  constexpr auto witness = Verification::Witness::GoTable;
  const std::uint64_t pc = pcs.begin;
  const auto answer = frames_.answer_at(pc);
  if (!answer) return std::nullopt;
  ++testimony.result.checked_pcs;
  const std::uint64_t end = std::min(pcs.end, answer->end);
  if (!answer->caller) {
    testimony.differ(
        {.pc = pc, .kind = Verification::Difference::Kind::NoCaller, .witness = witness, .expected = answer->why_none});
    return end;
  }
  const Caller by_row = row.caller_at(pc, Wording::Numbers);
  if (row.is_wrong_about_signal_frame(answer->is_called_by_handler)) {
    testimony.differ_about_signal_frame(pc, witness, row);
  } else if (!same_caller(*answer->caller, by_row)) {
    testimony.differ(pc, witness, row.caller_at(pc), *answer->caller);
  } else if (by_row.exists) {
    return dwarf_.judge_without_frame_pointer(row, {pc, end}, testimony);
  }
  return end;
}

}  // namespace sframe_gen::verify
