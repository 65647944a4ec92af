#include "verify/testimony.hpp"

#include <utility>

namespace sframe_gen::verify {

namespace {

/// Names of more FDEs that libdwarf cannot read help no further.
constexpr std::size_t unchecked_kept = 10000;

}  // namespace

void Testimony::begin_row(const JudgedRow& row) {
  claimed.push_back(row.pcs);
  row_is_unchecked_ = false;
}

void Testimony::differ(Verification::Difference difference) {
  ++result.difference_count;
  if (result.differences.size() < differences_kept) result.differences.push_back(std::move(difference));
}

void Testimony::differ(std::uint64_t pc, Verification::Witness witness, const Caller& by_row, const Caller& expected) {
  differ({.pc = pc, .witness = witness, .found = by_row.text, .expected = expected.text});
}

void Testimony::differ_about_signal_frame(std::uint64_t pc, Verification::Witness witness, const JudgedRow& row) {
  differ({.pc = pc,
          .kind = Verification::Difference::Kind::SignalFrame,
          .witness = witness,
          .is_signal_frame = row.fde.signal_frame});
}

void Testimony::leave_unchecked(Verification::Difference unchecked) {
  if (!std::exchange(row_is_unchecked_, true)) ++result.unchecked_count;
  if (reasons_listed_.size() < unchecked_kept && reasons_listed_.insert(unchecked.expected).second)
    result.unchecked.push_back(std::move(unchecked));
}

}  // namespace sframe_gen::verify
