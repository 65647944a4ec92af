#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "cfi/frame_table.hpp"
#include "cfi/instruction.hpp"
#include "cfi/known_steps.hpp"
#include "cfi/numbered_frames.hpp"
#include "cfi/usual_instructions.hpp"

namespace sframe_gen::cfi {

/// Runs call frame instructions over the columns that SFrame can speak of, and gives the rows of the unwind table
/// (DWARF 5, sections 6.4.2 and 6.4.3).
class CfiInterpreter {
 public:
  /// `table` and `rules`, which get the rows' rules, must outlive the interpreter.
  CfiInterpreter(const FrameTable& table, const TrackedRegisters& tracked, NumberedRules& rules);

  /// The rows of one FDE, equal neighbours merged, none at or past the function's end; the first is at offset 0.
  /// `rows` is cleared first, so that a caller can reuse its memory. Instructions that cannot be followed give one row,
  /// which says so.
  void run(const Fde& fde, std::vector<NumberedRow>& rows);

  /// With as many rules, instructions cannot be followed: compilers make a thousandth, and each takes a hundred times
  /// the bytes that ask for it.
  static constexpr std::size_t most_rules = std::size_t{1} << 18U;

 private:
  /// Where the interpreter is in one function.
  struct Progress {
    std::uint64_t start;     ///< virtual address of the function
    std::uint64_t location;  ///< bytes from `start`
    bool in_cie;             ///< running initial instructions: no rows, no restores
  };

  /// Where the instructions of a CIE leave off.
  struct InitialState : RuleState {
    bool is_known = false;
    std::vector<RuleState> remembered;  ///< which its FDEs may restore
  };

  const InitialState& initial_state(std::uint32_t cie_index);
  bool restores_our_column(const Instruction& instruction) const;
  void execute_fde(const Fde& fde, const RuleState& initial, std::vector<NumberedRow>& rows);
  void follow_usual(ByteReader& reader, const Fde& fde, Progress& progress, std::vector<NumberedRow>& rows);
  bool execute_one(ByteReader& reader, const InstructionContext& context, Progress& progress, const RuleState* initial,
                   std::vector<NumberedRow>* rows);
  void apply(const Instruction& instruction, ByteReader& reader, const RuleState* initial);
  void change_rules(const Instruction& instruction, const RuleState* initial);
  InstructionContext context_of(const Cie& cie) const;
  ByteReader reader_of(std::span<const std::byte> instructions) const;
  void remember(ByteReader& reader);
  void restore_state(ByteReader& reader);
  void advance_to(std::uint64_t location, Progress& progress, std::vector<NumberedRow>* rows);
  void keep_up_with_generation();
  RuleNumber unknown(UnknownReason reason) { return rules_.number_of({reason, {}, {}, {}}); }

  const FrameTable& table_;
  TrackedRegisters tracked_;
  NumberedRules& rules_;
  std::uint32_t generation_;
  UsualInstructions usual_;
  KnownSteps steps_;
  std::vector<InitialState> initial_states_;
  RuleState state_;
  std::vector<RuleState> remembered_;
};

}  // namespace sframe_gen::cfi
