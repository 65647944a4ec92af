#pragma once

#include <cstdint>
#include <set>

#include "rows/proof/program.hpp"
#include "rows/proof/state.hpp"

namespace sframe_gen::rows::proof {

/// How the paths of one function end, and what the function changes for its callers. It fills in a proof.
class FunctionEnds {
 public:
  /// Both must outlive it.
  FunctionEnds(Program& program, FunctionProof& proof) : program_(program), proof_(proof) {}

  /// No path has ended yet: the paths begin again.
  void forget();

  /// A path returns as at the entry.
  void return_with(const State& state);
  /// It jumps to another function, with the frame of the entry.
  void jump_with(const State& state);
  void jump_to(std::uint64_t target);
  void jump_to(const Import& import);
  void jump_anywhere(const State& state);
  void end_the_program() { proof_.has_endless_end = true; }
  /// An end of the last pass, whose states hold on every path.
  void end_for_sure_with(const State& state);

  /// The instruction has made this state.
  void pass(const Instruction& instruction, const State& after);
  /// A return was not as at the entry, and a call or a table was found to be to blame.
  void blame_for_return() { has_blamed_return_ = true; }

  /// Sets what callers must know, when it is known whether the function is refused.
  void conclude(bool is_undescribed);
  /// Whether a path ends with another FP than the caller's.
  bool lose_frame_pointer() const { return loses_frame_pointer_; }

 private:
  void leave_with(const State& state);
  void conclude_proved();

  Program& program_;
  FunctionProof& proof_;
  std::set<std::uint64_t> tails_;
  bool has_blamed_return_ = false;
  bool loses_frame_pointer_ = false;
  bool forgets_frame_pointer_ = false;  ///< the caller's FP was nowhere
  bool pops_return_address_ = false;    ///< SP has been above it
};

}  // namespace sframe_gen::rows::proof
