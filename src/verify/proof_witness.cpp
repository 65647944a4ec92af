#include "verify/proof_witness.hpp"

#include <algorithm>
#include <iterator>

namespace sframe_gen::verify {

const ProvedRows& ProofWitness::proved() {
  std::call_once(once_, [this] {
    if (prove_) proved_ = prove_();
  });
  return proved_;
}

std::string ProofWitness::why_none() {
  return proved().why_none;
}

std::optional<std::uint64_t> ProofWitness::judge(const JudgedRow& row, const Range& pcs, Testimony& testimony,
                                                 bool others_may_know) {
  const std::vector<sframe::PcRow>& rows = proved().rows;
  const auto after = std::ranges::upper_bound(rows, pcs.begin, {}, &sframe::PcRow::begin);
  if (after == rows.begin() || std::prev(after)->end <= pcs.begin) return std::nullopt;
  const sframe::PcRow& known = *std::prev(after);
  const auto expected = [&](Wording wording) {
    return sframe_caller(known.recovery, row.fde, row.section, pcs.begin, wording);
  };
  constexpr auto witness = Verification::Witness::Instructions;
  const bool is_wrong_mark = row.is_wrong_about_signal_frame(known.signal_frame);
  const bool is_right =
      !is_wrong_mark && same_caller(row.caller_at(pcs.begin, Wording::Numbers), expected(Wording::Numbers));
  if (!is_right && others_may_know) return std::nullopt;
  ++testimony.result.checked_pcs;
  if (is_wrong_mark) {
    testimony.differ_about_signal_frame(pcs.begin, witness, row);
  } else if (!is_right) {
    testimony.differ(pcs.begin, witness, row.caller_at(pcs.begin), expected(Wording::Texts));
  }
  return std::min(pcs.end, known.end);
}

}  // namespace sframe_gen::verify
