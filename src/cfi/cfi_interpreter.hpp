#pragma once

#include <cstdint>
#include <vector>

#include "cfi/frame_row.hpp"
#include "cfi/frame_table.hpp"
#include "cfi/instruction.hpp"

namespace sframe_gen::cfi {

/// Runs call frame instructions over the columns that SFrame can speak of, and gives the rows of the unwind table
/// (DWARF 5, sections 6.4.2 and 6.4.3).
class CfiInterpreter {
 public:
  /// `table` must outlive the interpreter.
  CfiInterpreter(const FrameTable& table, const TrackedRegisters& tracked);

  /// The rows of one FDE, equal neighbours merged, none at or past the function's end; the first is at offset 0.
  /// `rows` is cleared first, so that a caller can reuse its memory. Instructions that cannot be followed give one row,
  /// which says so.
  void run(const Fde& fde, std::vector<FrameRow>& rows);

 private:
  /// What the rules are at the current location.
  struct State {
    Rules rules;
    bool cfa_is_expression = false;  ///< def_cfa_offset and def_cfa_register then have nothing to change
  };

  /// Where the interpreter is in one function.
  struct Progress {
    std::uint64_t start;     ///< virtual address of the function
    std::uint64_t location;  ///< bytes from `start`
    bool in_cie;             ///< running initial instructions: no rows, no restores
  };

  /// Where the instructions of a CIE leave off.
  struct InitialState : State {
    std::vector<State> remembered;  ///< which its FDEs may restore
  };

  const InitialState& initial_state(std::uint32_t cie_index);
  bool restores_our_column(const Instruction& instruction);
  void execute(std::span<const std::byte> instructions, const Cie& cie, Progress& progress, const State* initial,
               std::vector<FrameRow>* rows);
  void apply(const Instruction& instruction, ByteReader& reader, const State* initial);
  void apply_cfa(const Instruction& instruction);
  void apply_expression(const Instruction& instruction);
  void remember(ByteReader& reader);
  void restore_state(ByteReader& reader);
  void advance_to(std::uint64_t location, Progress& progress, std::vector<FrameRow>* rows);
  RegisterRule* column(DwarfRegister number);
  void set(DwarfRegister number, const RegisterRule& rule);
  void set_signing(Signing signing);
  void restore(DwarfRegister number, const State& initial);

  const FrameTable& table_;
  TrackedRegisters tracked_;
  std::vector<InitialState> initial_states_;
  std::vector<bool> initial_known_;
  State state_;
  bool changed_ = false;  ///< state_ may differ from the last row; most instructions are about other registers
  std::vector<State> remembered_;
};

}  // namespace sframe_gen::cfi
