#include "rows/proof/ends.hpp"

#include <algorithm>
#include <vector>

#include "rows/proof/conditions.hpp"

namespace sframe_gen::rows::proof {

namespace {

class EndsOfFunctions {
 public:
  EndsOfFunctions(std::span<FunctionProof> functions, const SeededMap<std::uint64_t, std::size_t>& numbers,
                  const std::function<Standing(std::uint64_t)>& standing_of)
      : functions_(functions), numbers_(numbers), is_proved_(functions.size()) {
    standing_.reserve(functions.size());
    for (const FunctionProof& function : functions) {
      standing_.push_back(standing_of(function.start));
      const bool breaks = function.refusal == Refusal::FramePointerLost || function.refusal == Refusal::OtherConvention;
      breaks_convention_ = breaks_convention_ || breaks;
    }
  }

  void refuse_unproved() {
    for (std::size_t i = 0; i < functions_.size(); ++i) {
      FunctionProof& function = functions_[i];
      // Parts that were split off jump back. A landing pad's may begin with a row like that of an entry: libgnarl-12.
      if (function.jumps_inside_another && !standing_[i].is_sure_start) refuse(function, Refusal::FlowsIntoFunction);
      if (standing_[i].is_entry_point && !standing_[i].is_described) refuse(function, Refusal::EntryPoint);
      if (function.refusal != Refusal::None) continue;
      // A label in an interpreter may end with a call that does not return, and what follows is a function.
      if (function.is_taken_only && !function.has_own_end) continue;
      for (const std::uint64_t tail : function.tails) jumps_to_[tail].push_back(i);
      if (function.has_return || (standing_[i].is_described && has_other_end(i))) add_proved(i);
    }
    follow_begin_of_program();
    spread();
    for (std::size_t i = 0; i < functions_.size(); ++i) {
      const bool is_no_return = functions_[i].tails.empty() && !functions_[i].has_imported_tail;
      if (!is_proved_[i]) refuse(functions_[i], is_no_return ? Refusal::NoReturn : Refusal::TailNotProved);
    }
  }

  void refuse_not_entered() {
    std::vector<bool> is_entered(functions_.size());
    std::vector<std::size_t> entered;
    const auto enter = [&](std::size_t i) {
      if (!is_entered[i]) entered.push_back(i);
      is_entered[i] = true;
    };
    for (std::size_t i = 0; i < functions_.size(); ++i)
      if (standing_[i].is_described || standing_[i].is_sure_start || functions_[i].is_taken_only) enter(i);
    while (!entered.empty()) {
      const FunctionProof& function = functions_[entered.back()];
      entered.pop_back();
      if (function.refusal != Refusal::None) continue;
      for (const std::uint64_t tail : function.tails)
        if (const auto found = numbers_.find(tail); found != numbers_.end()) enter(found->second);
    }
    for (std::size_t i = 0; i < functions_.size(); ++i)
      if (!is_entered[i]) refuse(functions_[i], Refusal::NotEntered);
  }

 private:
  static void refuse(FunctionProof& function, Refusal refusal) {
    if (function.refusal != Refusal::None) return;
    function.refusal = refusal;
    function.refused_at = function.start;
  }

  void add_proved(std::size_t i) {
    if (is_proved_[i]) return;
    is_proved_[i] = true;
    proved_.push_back(i);
  }

  bool has_other_end(std::size_t i) const {
    const FunctionProof& function = functions_[i];
    const bool imports_prove = conditions::may_be_proved_by_import(standing_[i].is_described, breaks_convention_);
    return function.has_indirect_tail || (function.has_imported_tail && imports_prove);
  }

  /// What a proved function calls has the entry that a call makes, whether it returns or not.
  bool is_proved_by_call(std::size_t i) const {
    return has_other_end(i) || (functions_[i].has_endless_end && !standing_[i].is_described && !breaks_convention_);
  }

  /// The functions that the entry point calls, and those that they go on in, have the entry that a call makes.
  void follow_begin_of_program() {
    if (breaks_convention_) return;
    std::vector<std::uint64_t> entered;
    for (std::size_t i = 0; i < functions_.size(); ++i) {
      const FunctionProof& function = functions_[i];
      if (standing_[i].is_called_first) entered.push_back(function.start);
      if (standing_[i].is_entry_point && !standing_[i].is_described)
        entered.insert(entered.end(), function.callees.begin(), function.callees.end());
    }
    std::vector<bool> is_entered(functions_.size());
    while (!entered.empty()) {
      const auto found = numbers_.find(entered.back());
      entered.pop_back();
      if (found == numbers_.end() || is_entered[found->second]) continue;
      is_entered[found->second] = true;
      const FunctionProof& function = functions_[found->second];
      if (function.refusal != Refusal::None) continue;
      if (is_proved_by_call(found->second)) add_proved(found->second);
      entered.insert(entered.end(), function.tails.begin(), function.tails.end());
    }
  }

  void spread() {
    while (!proved_.empty()) {
      const FunctionProof& function = functions_[proved_.back()];
      proved_.pop_back();
      if (const auto found = jumps_to_.find(function.start); found != jumps_to_.end())
        for (const std::size_t i : found->second) add_proved(i);
      for (const std::uint64_t callee : function.callees) {
        const auto found = numbers_.find(callee);
        if (found == numbers_.end() || functions_[found->second].refusal != Refusal::None) continue;
        if (is_proved_by_call(found->second)) add_proved(found->second);
      }
    }
  }

  std::span<FunctionProof> functions_;
  const SeededMap<std::uint64_t, std::size_t>& numbers_;
  std::vector<Standing> standing_;  ///< of each function
  std::vector<bool> is_proved_;
  std::vector<std::size_t> proved_;  ///< of which callers and callees do not know yet
  SeededMap<std::uint64_t, std::vector<std::size_t>> jumps_to_;
  bool breaks_convention_ = false;  ///< some function of the file does not keep to System V
};

}  // namespace

void refuse_unproved_ends(std::span<FunctionProof> functions, const SeededMap<std::uint64_t, std::size_t>& numbers,
                          const std::function<Standing(std::uint64_t)>& standing_of) {
  EndsOfFunctions ends(functions, numbers, standing_of);
  ends.refuse_unproved();
  ends.refuse_not_entered();
}

}  // namespace sframe_gen::rows::proof
