#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "sframe/format.hpp"
#include "sframe_gen/section.hpp"
#include "sframe_gen/verify.hpp"
#include "support/range.hpp"
#include "verify/caller.hpp"

namespace sframe_gen::verify {

/// A row of a section, for witnesses to judge. What it refers to must outlive it.
struct JudgedRow {
  const std::optional<sframe::RecoveryRules>& recovery;
  const sframe::Fde& fde;
  const sframe::Section& section;
  Range pcs;  ///< virtual addresses that the row is for

  const sframe::AbiTraits& abi() const { return sframe::traits_of(section.abi); }
  /// Returns what the row says at `pc`.
  Caller caller_at(std::uint64_t pc, Wording wording = Wording::Texts) const {
    return sframe_caller(recovery, fde, section, pc, wording);
  }
  /// Checks whether the row should and does not, or does and should not, mark a signal frame. Some versions cannot.
  bool is_wrong_about_signal_frame(bool is_signal_frame) const {
    return fde.signal_frame != is_signal_frame && sframe::traits_of(section.version).marks_signal_frames;
  }
};

/// Differences and counts that the witnesses report about some functions of a section.
class Testimony {
 public:
  static constexpr std::size_t differences_kept = 20;

  /// Counts the PCs of a row, which is judged from now on.
  void begin_row(const JudgedRow& row);

  void differ(Verification::Difference difference);
  void differ(std::uint64_t pc, Verification::Witness witness, const Caller& by_row, const Caller& expected);
  void differ_about_signal_frame(std::uint64_t pc, Verification::Witness witness, const JudgedRow& row);

  /// Counts the row as unchecked. The reason, `expected`, names the FDE, so that the FDE's next row has the same one
  /// and is not listed again.
  void leave_unchecked(Verification::Difference unchecked);

  Verification result;
  std::vector<Range> claimed;  ///< PCs that have rows

 private:
  bool row_is_unchecked_ = false;         ///< at least in part
  std::set<std::string> reasons_listed_;  ///< of unchecked rows
};

}  // namespace sframe_gen::verify
