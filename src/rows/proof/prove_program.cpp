#include "rows/proof/prove_program.hpp"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <utility>
#include <vector>

#include "rows/proof/data_pointers.hpp"
#include "rows/proof/findings.hpp"
#include "rows/proof/function.hpp"
#include "rows/proof/function_ends.hpp"
#include "rows/proof/state_rules.hpp"

namespace sframe_gen::rows::proof {

namespace {

/// Each round takes what is now known of callees to their callers. More than a few change nothing in real files.
constexpr int most_rounds = 4;

/// A function whose address is taken may take the next one's: compilers' code makes no longer chains.
constexpr int most_looks_at_taken = 16;

}  // namespace

/// Follows functions until no more are found, and again with what is known of their callees by then; and then refuses
/// those that the others show to be wrong.
class Proving {
 public:
  explicit Proving(Program& program) : program_(program) {}

  void run(const ProofProgress& progress) {
    if (program_.options_.proves_undescribed) {
      for (const std::uint64_t address : code_addresses_in_data(program_.image_)) {
        program_.taken_code_.push_back({address, 0});
        program_.marks_.mark_taken(address);
      }
    }
    prove_new(0, progress);
    if (program_.options_.proves_undescribed) prove_taken(progress);
    prove_again(progress);
    refuse_overlapped();
    refuse_unproved_ends(program_.functions_, program_.starts_,
                         [this](std::uint64_t start) { return standing_of(start); });
    refuse_entered_without_frame_pointer();
    compare_ways_in();
    doubt_what_others_agree_on();
  }

 private:
  void prove_at(std::size_t i) {
    const FunctionProof& before = program_.functions_[i];
    if (before.is_taken_only && program_.marks_.is_label(before.start)) return;
    const bool is_taken_only = before.is_taken_only;
    FunctionProof proof = prove_function(program_, before.start, program_.own_of(before.start));
    // A call of its own address makes it a sure start, and a jump makes it a label.
    proof.is_taken_only = is_taken_only && program_.functions_[i].is_taken_only;
    program_.functions_[i] = std::move(proof);
  }

  void prove_new(std::size_t from, const ProofProgress& progress) {
    // Calls find more functions meanwhile.
    for (std::size_t i = from; i < program_.functions_.size(); ++i) {
      if (progress && i % 1024 == 0) progress(i, program_.functions_.size());
      prove_at(i);
    }
  }

  void prove_taken(const ProofProgress& progress) {
    for (int look = 0; look < most_looks_at_taken; ++look) {
      program_.sort_starts();
      const std::size_t count = program_.functions_.size();
      if (!program_.add_taken_starts()) return;
      prove_new(count, progress);
    }
  }

  void prove_again(const ProofProgress& progress) {
    std::vector<CalleeEffect> known(program_.functions_.size());
    for (int round = 1; round < most_rounds; ++round) {
      program_.sort_taken();
      program_.sort_starts();
      SeededMap<std::uint64_t, bool> changed;
      known.resize(program_.functions_.size());
      for (std::size_t i = 0; i < program_.functions_.size(); ++i) {
        if (program_.functions_[i].effect == known[i]) continue;
        known[i] = program_.functions_[i].effect;
        changed.emplace(program_.functions_[i].start, true);
      }
      const std::size_t count = program_.functions_.size();
      for (std::size_t i = 0; i < count; ++i) {
        const FunctionProof& function = program_.functions_[i];
        // The ends of tables are known now, and in code without CFI those of functions.
        const bool had_no_end = !function.unbounded_tables.empty() || program_.described(function.start) == nullptr;
        const bool had_too_much =
            round == 1 && (function.has_split_parts || (had_no_end && function.refusal != Refusal::None));
        // Callees that are known by now may be sure to return.
        const bool may_have_own_end =
            function.is_taken_only && !function.has_own_end && function.refusal == Refusal::None;
        const auto is_changed = [&](std::uint64_t target) { return changed.contains(target); };
        if (had_too_much || may_have_own_end || std::ranges::any_of(function.callees, is_changed) ||
            std::ranges::any_of(function.tails, is_changed))
          prove_at(i);
      }
      prove_new(count, {});
      if (program_.options_.proves_undescribed) prove_taken(progress);
    }
  }

  void refuse_overlapped() {
    constexpr std::uint64_t longest = 15;
    program_.sort_starts();
    for (const std::uint64_t pc : program_.overlaps_) {
      if (program_.described(pc) != nullptr) continue;
      // The one that was read first goes on from before `pc`, or begins inside the instruction there. That at `pc` is
      // refused already; it may be the nearest before.
      auto first = std::ranges::upper_bound(program_.sorted_starts_, pc);
      const auto end = std::ranges::lower_bound(program_.sorted_starts_, pc + longest);
      for (int i = 0; i < 2 && first != program_.sorted_starts_.begin(); ++i) --first;
      for (; first != end; ++first) {
        FunctionProof& function = program_.functions_[program_.starts_.at(*first)];
        if (function.refusal != Refusal::None || program_.described(function.start) != nullptr) continue;
        function.refusal = Refusal::OverlappingInstructions;
        function.refused_at = pc;
      }
    }
  }

  Standing standing_of(std::uint64_t start) {
    return {.is_described = program_.described(start) != nullptr,
            .is_sure_start = program_.marks_.is_sure_start(start),
            .is_entry_point = program_.image_.header().e_entry == start,
            .is_called_first = program_.called_first_ == start};
  }

  void refuse_entered_without_frame_pointer() {
    std::vector<std::uint64_t> entered;
    for (const FunctionProof& function : program_.functions_)
      if (function.jumps_without_frame_pointer)
        entered.insert(entered.end(), function.tails.begin(), function.tails.end());
    while (!entered.empty()) {
      const auto found = program_.starts_.find(entered.back());
      entered.pop_back();
      if (found == program_.starts_.end()) continue;
      FunctionProof& function = program_.functions_[found->second];
      if (std::exchange(function.begins_without_frame_pointer, true)) continue;
      entered.insert(entered.end(), function.tails.begin(), function.tails.end());
      if (function.refusal != Refusal::None || program_.described(function.start) != nullptr) continue;
      function.refusal = Refusal::FramePointerLost;
      function.refused_at = function.start;
    }
  }

  void compare_ways_in() {
    CodeMarks& marks = program_.marks_;
    for (FunctionProof& function : program_.functions_) {
      if (function.refusal == Refusal::None) continue;
      function.disagreements.clear();
      function.doubted.clear();
      const cfi::Function* const described = program_.described(function.start);
      if (described == nullptr || !may_be_judged(*described) || !marks.is_sure_start(function.start)) continue;
      // CFI of a part that is called in its own function's frame counts from that one's CFA.
      const bool is_entry = described->start == function.start
                                ? begins_as_an_entry(program_.rules_[described->rows.front().rule])
                                : marks.is_called_from_outside(function.start);
      if (is_entry) function.disagreements = disagreements_on_the_way_in(program_, function);
    }
  }

  void doubt_what_others_agree_on() {
    for (FunctionProof& function : program_.functions_) {
      const auto is_doubted = [&](const Disagreement& found) {
        return !function.own.contains(found.pcs.begin) && program_.marks_.is_agreed(found.pcs.begin);
      };
      auto& found = function.disagreements;
      std::ranges::copy_if(found, std::back_inserter(function.doubted), is_doubted);
      std::erase_if(found, is_doubted);
    }
  }

  Program& program_;
};

void prove_program(Program& program, const ProofProgress& progress) {
  Proving(program).run(progress);
}

}  // namespace sframe_gen::rows::proof
