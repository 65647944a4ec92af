#pragma once

#include <cstdint>
#include <functional>
#include <set>
#include <span>

#include "rows/proof/function_proof.hpp"
#include "rows/proof/program.hpp"
#include "rows/proof/state.hpp"
#include "support/hash.hpp"

/// How functions end, and whether their ends prove that they return.
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

/// How one knows of a function's start, once all functions are followed.
struct Standing {
  bool is_described = false;   ///< CFI describes it
  bool is_sure_start = false;  ///< it is called, or has a symbol
  bool is_entry_point = false;
  bool is_called_first = false;  ///< by the entry point, of this program or of any
};

/// Refuses functions whose ends prove nothing, and those that only refused functions jump to.
///
/// A return proves by itself: what it takes from the stack is the return address. A jump to a function that is proved
/// proves as well. Other ends say nothing of where the return address is: they count where a proved function calls this
/// one, as the call has put it there, and where CFI describes an entry. A function without CFI may then also end where
/// the program ends.
///
/// The entry point calls as well, and its callee may go on by jumps without a frame: musl's functions up to the one
/// that calls main() go so, and do not return. Each of them finds the return address of that call.
///
/// `numbers`: the place in `functions` of each start.
void refuse_unproved_ends(std::span<FunctionProof> functions, const SeededMap<std::uint64_t, std::size_t>& numbers,
                          const std::function<Standing(std::uint64_t)>& standing_of);

}  // namespace sframe_gen::rows::proof
