#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "cfi/fast_path.hpp"
#include "cfi/frame_index.hpp"
#include "cfi/instruction.hpp"
#include "cfi/rules.hpp"

namespace sframe_gen::cfi {

/// What one instruction makes of rules.
class RuleChange {
 public:
  /// `cfa_is_expression`: def_cfa_offset and def_cfa_register have nothing to change.
  RuleChange(const TrackedRegisters& tracked, const Rules& rules, bool cfa_is_expression)
      : tracked_(tracked), rules_(rules), cfa_is_expression_(cfa_is_expression) {}

  /// One without an expression, of those that set or restore a rule. `initial`: what the CIE says; null inside the CIE.
  void apply(const Instruction& instruction, const Rules* initial);
  /// One with an expression. Throws MalformedInput.
  void apply_expression(const Instruction& instruction, const ExpressionBytes& expression);

  const Rules& rules() const { return rules_; }
  bool cfa_is_expression() const { return cfa_is_expression_; }

 private:
  void apply_cfa(const Instruction& instruction);
  void set(DwarfRegister number, const RegisterRule& rule);
  void restore(DwarfRegister number, const Rules& initial);

  const TrackedRegisters& tracked_;
  Rules rules_;
  bool cfa_is_expression_;
};

/// On s390x functions keep their caller's SP in a floating-point register or in a slot of their own, and SFrame takes
/// it to be CFA - 160. While a frame lives, its CFA and its caller's registers do not change. So one row with the CFA
/// of a function's entry, SP + 160, and SP unchanged proves SP = CFA - 160 for all rows of the FDE: rules for SP that
/// name a register or a slot are dropped then.
///
/// Proves nothing where the CFA is ever counted from anything but SP and FP, as in code that switches stacks. Not for
/// signal frames, nor for a part split off (.cold), which has no such row. `rows` are all of the FDE's. The caller has
/// seen that no expression gave the CFA or SP, and that no opcode was unknown: verify/proofs asks the same.
void drop_proven_stack_pointers(std::vector<Row>& rows, RuleTable& rules, const TrackedRegisters& tracked);

/// Runs call frame instructions over the columns that SFrame can speak of, and gives the rows of the unwind table
/// (DWARF 5, sections 6.4.2 and 6.4.3). FastPath begins an FDE; from its first unusual instruction on the general
/// interpreter executes all.
class CfiInterpreter {
 public:
  enum class Paths : std::uint8_t { Both, GeneralOnly };

  /// `table` and `rules`, which get the rows' rules, must outlive the interpreter.
  CfiInterpreter(const FrameTable& table, const TrackedRegisters& tracked, RuleTable& rules, Paths paths = Paths::Both);

  /// Gives the rows of one FDE, equal neighbors merged. If the instructions cannot be followed, one row gives the
  /// reason. `rows` is cleared first, so that a caller can reuse its memory.
  void run(const Fde& fde, std::vector<Row>& rows) { run(fde, {0, fde.function_size}, rows); }
  /// The same of some PCs, at most 4 GiB, in bytes from the function's start. The rows count from their begin, where
  /// the first one is.
  void run(const Fde& fde, Range pcs, std::vector<Row>& rows);

  /// Instructions that make as many different rules cannot be followed: compilers make a thousandth, and each takes a
  /// hundred times the bytes that ask for it.
  static constexpr std::size_t most_rules = std::size_t{1} << 18U;

 private:
  /// Where the instructions of a CIE leave off.
  struct InitialState {
    bool is_known = false;
    RuleState state;
    std::vector<RuleState> remembered;    ///< which its FDEs may restore
    std::optional<UnknownReason> hidden;  ///< why the rows of its FDEs cannot be known
    bool is_plain = true;                 ///< as `is_plain_` was then
  };
  /// What the general interpreter executes: an FDE's instructions, or a CIE's, which make no rows.
  struct Block {
    const Cie& cie;
    std::uint64_t function_start = 0;          ///< virtual address
    const RuleState* initial_state = nullptr;  ///< null: of a CIE
  };

  const InitialState& initial_state(std::uint32_t cie_index);
  std::optional<UnknownReason> why_hidden(const Cie& cie) const;
  bool restores_our_column(const Instruction& instruction) const;
  void execute_fde(const Fde& fde, const RuleState& initial);
  void execute_fast(const Fde& fde, const Block& block, ByteReader& reader);
  bool execute_one(ByteReader& reader, const Block& block);
  bool gives_cfa_or_stack_pointer(const Instruction& instruction) const;
  RuleState changed(const RuleState& before, const Instruction& instruction, const Block& block);
  InstructionContext context_of(const Cie& cie) const;
  ByteReader reader_of(std::span<const std::byte> instructions) const;
  RuleId unknown(UnknownReason reason) { return rules_.intern(unknown_rules(reason)); }

  const FrameTable& table_;
  TrackedRegisters tracked_;
  RuleTable& rules_;
  Paths paths_;
  FastPath fast_path_;
  std::vector<InitialState> initial_states_;
  RunState progress_;
  /// Whether no expression has given the CFA or SP so far, and no opcode was unknown, in a CIE and one of its FDEs.
  bool is_plain_ = true;
};

}  // namespace sframe_gen::cfi
