#include "rows/proof/synthesis.hpp"

#include <algorithm>
#include <deque>
#include <iterator>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "cfi/frame_source.hpp"
#include "rows/proof/function.hpp"
#include "rows/proof/state_rules.hpp"

namespace sframe_gen::rows::proof {

namespace {

/// Goes on with the last one where it can: millions of instructions have few reasons.
void add_lack(const Range& pcs, std::string_view reason, std::vector<Lack>& lacking) {
  if (!lacking.empty() && lacking.back().end == pcs.begin && lacking.back().reason == reason) {
    lacking.back().end = pcs.end;
  } else {
    lacking.push_back({pcs.begin, pcs.end, reason});
  }
}

/// Code that refused functions reach: what holds there when they run is not known, unless they were seen to come there
/// with the same rules.
class SharedCode {
 public:
  SharedCode(Program& program, std::size_t functions, std::vector<Lack>& lacking) {
    for (std::size_t i = 0; i < functions; ++i) {
      const FunctionProof proof = program.functions()[i];
      if (!may_share(program, proof)) continue;
      Reach reach = reach_of(program, proof);
      // Code that CFI describes gets no such rows.
      std::erase_if(reach.instructions, [&](const Range& one) { return program.described(one.begin) != nullptr; });
      for (const Range& one : reach.instructions) {
        add_lack(one, name_of(proof.refusal), lacking);
        if (one.end > highest) is_too_high_ = true;
        instructions_.push_back(one.begin << size_bits | one.size());
      }
      for (const auto& [begin, rules] : reach.blocks) {
        const bool is_known = rules && !proof.begins_without_frame_pointer;
        blocks_.push_back({begin, is_known ? std::optional(rules_.intern(*rules)) : std::nullopt});
      }
    }
    join_blocks();
    std::ranges::sort(instructions_);
  }

  /// Whether a proved function has other rules at `pcs`. `follows`: directly after code where it has not.
  bool differs(const Range& pcs, const State& state, bool follows) const {
    if (is_too_high_) return true;
    const auto block = std::ranges::lower_bound(blocks_, pcs.begin, {}, &Block::begin);
    const bool is_block = block != blocks_.end() && block->begin == pcs.begin;
    if (is_block && (!block->rule || rules_of(state) != rules_[*block->rule])) return true;
    return !follows && is_passed(pcs, is_block ? block->functions : 0);
  }

 private:
  static constexpr unsigned size_bits = 4;
  static constexpr std::uint64_t longest = 15;  ///< bytes of an instruction
  static constexpr std::uint64_t highest = UINT64_MAX >> size_bits;

  struct Block {
    std::uint64_t begin = 0;
    std::optional<cfi::RuleId> rule;  ///< none: it is not known, or functions come there with different ones
    std::uint32_t functions = 1;      ///< that have a block there
  };

  /// Brings the blocks into their order, and makes one of those that begin at the same place.
  void join_blocks() {
    std::ranges::sort(blocks_, {}, &Block::begin);
    auto last = blocks_.begin();
    for (auto next = last; next != blocks_.end(); ++next) {
      if (next == last) continue;
      if (next->begin != last->begin) {
        *++last = *next;
        continue;
      }
      if (next->rule != last->rule) last->rule.reset();
      last->functions += next->functions;
    }
    if (last != blocks_.end()) blocks_.erase(std::next(last), blocks_.end());
  }

  /// Whether more functions than those whose blocks begin at `pcs` come there, from the instruction before, or to the
  /// midst of an instruction.
  bool is_passed(const Range& pcs, std::size_t beginning) const {
    std::size_t passing = 0;
    const std::uint64_t first = pcs.begin - std::min(pcs.begin, longest);
    for (auto one = std::ranges::lower_bound(instructions_, first << size_bits); one != instructions_.end(); ++one) {
      const std::uint64_t begin = *one >> size_bits;
      if (begin >= pcs.end) break;
      if (begin == pcs.begin) {
        ++passing;
      } else if (pcs.begin < begin + (*one & longest)) {
        return true;
      }
    }
    return passing > beginning;
  }

  static bool may_share(Program& program, const FunctionProof& proof) {
    if (proof.refusal == Refusal::None) return false;
    // Only where CFI describes code are all paths followed before these reasons are known, and none goes on without
    // CFI.
    const bool is_described = program.described(proof.start) != nullptr;
    if (is_described && (proof.refusal == Refusal::NoReturn || proof.refusal == Refusal::TailNotProved)) return false;
    // A label is no function: no path comes there as a call does.
    return !(proof.is_taken_only && program.marks().is_label(proof.start));
  }

  /// Ascending. In a map, half a million of them would take 6 % of the time of libHSghc.
  std::deque<Block> blocks_;
  cfi::RuleTable rules_;  ///< of the blocks
  /// The PC and the size of each, ascending; once for each function. A vector would double while it grows.
  std::deque<std::uint64_t> instructions_;
  bool is_too_high_ = false;  ///< a PC does not fit, as no program's is so high
};

/// The rows of one function, whose steps come by ascending PC.
class PieceBuilder {
 public:
  PieceBuilder(Program& program, const SharedCode& shared, const RangeSet& kept_out, cfi::RuleTable& rules,
               std::vector<Lack>& lacking)
      : program_(program), shared_(shared), kept_out_(kept_out), rules_(rules), lacking_(lacking) {}

  void add(const Step& step, const State& state) {
    const Range pcs{step.pc, step.pc + step.instruction.size};
    if (program_.described(step.pc) != nullptr || kept_out_.overlaps(pcs)) return;
    const bool is_call = step.instruction.operation == Operation::Call;
    const bool is_after_call = std::exchange(last_is_call_, is_call);
    const auto rules = rules_of(state, is_call, step.popped_frame_pointers);
    const bool follows = std::exchange(last_end_, pcs.end) == pcs.begin;
    differs_ = (follows && differs_) || shared_.differs(pcs, state, follows);
    const std::string_view lack = state.is_doubtful      ? "doubtful-jump"
                                  : step.may_be_anothers ? "after-call"
                                  : differs_             ? "shared-code"
                                  : !rules               ? why_no_rules(state, is_call)
                                                         : "";
    if (!lack.empty()) return add_lack(pcs, lack, lacking_);
    const cfi::RuleId rule = rules_.intern(*rules);
    if (pieces_.empty() || !goes_on(pieces_.back(), pcs, is_after_call)) pieces_.push_back({pcs.begin, 0, false, {}});
    cfi::Function& piece = pieces_.back();
    if (piece.rows.empty() || piece.rows.back().rule != rule)
      piece.rows.push_back({static_cast<std::uint32_t>(pcs.begin - piece.start), rule});
    piece.size = pcs.end - piece.start;
  }

  std::vector<cfi::Function> take() {
    last_end_ = 0;
    return std::exchange(pieces_, {});
  }

 private:
  bool goes_on(const cfi::Function& piece, const Range& pcs, bool is_after_call) const {
    return piece.end() <= pcs.begin && pcs.end - piece.start <= UINT32_MAX &&
           is_padding({piece.end(), pcs.begin}, is_after_call);
  }

  /// Instructions that do nothing, and those that end a program: `int3`, and `ud2` after a call that does not return.
  /// LLVM jumps to other ones, which have the state of those jumps.
  bool is_padding(const Range& gap, bool is_after_call) const {
    if (kept_out_.overlaps(gap)) return false;
    for (std::uint64_t pc = gap.begin; pc < gap.end;) {
      if (program_.is_start(pc) || program_.described(pc) != nullptr) return false;
      const auto bytes = elf::loaded_bytes_from(program_.image(), pc);
      const Instruction instruction =
          program_.decoder().decode(bytes.first(std::min<std::uint64_t>(bytes.size(), gap.end - pc)), pc);
      const bool is_no_target = instruction.size == 1 || is_after_call;
      const bool does_nothing =
          instruction.operation == Operation::Nothing || (instruction.operation == Operation::Trap && is_no_target);
      if (instruction.size == 0 || !does_nothing) return false;
      pc += instruction.size;
    }
    return true;
  }

  Program& program_;
  const SharedCode& shared_;
  std::uint64_t last_end_ = 0;
  bool last_is_call_ = false;
  bool differs_ = false;  ///< the last step's rules, from those of a refused function
  const RangeSet& kept_out_;
  cfi::RuleTable& rules_;
  std::vector<Lack>& lacking_;
  std::vector<cfi::Function> pieces_;
};

/// By address, without what another one has said before.
std::vector<Lack> disjoint(std::vector<Lack> all) {
  std::ranges::stable_sort(all, {}, &Lack::begin);
  std::vector<Lack> lacking;
  for (Lack one : all) {
    if (!lacking.empty()) one.begin = std::max(one.begin, lacking.back().end);
    if (one.begin < one.end) add_lack({one.begin, one.end}, one.reason, lacking);
  }
  return lacking;
}

/// The parts of merged functions on which those agree.
void add_agreed(const cfi::Function& merged, const cfi::RuleTable& rules, std::vector<cfi::Function>& pieces) {
  for (std::size_t i = 0; i < merged.rows.size();) {
    const auto is_known = [&](const cfi::Row& row) {
      return !std::holds_alternative<cfi::UnknownReason>(rules[row.rule].cfa);
    };
    const auto begin = std::find_if(merged.rows.begin() + static_cast<std::ptrdiff_t>(i), merged.rows.end(), is_known);
    if (begin == merged.rows.end()) return;
    const auto end = std::find_if_not(begin, merged.rows.end(), is_known);
    pieces.push_back(cfi::part_of(merged, merged.start + begin->pc_offset,
                                  end == merged.rows.end() ? merged.end() : merged.start + end->pc_offset));
    i = static_cast<std::size_t>(end - merged.rows.begin());
  }
}

/// Pieces of several functions may overlap: where code is shared.
std::vector<cfi::Function> disjoint(std::vector<cfi::Function> all, cfi::RuleTable& rules, std::vector<Lack>& lacking) {
  std::ranges::sort(all, {}, &cfi::Function::start);
  std::vector<cfi::Function> pieces;
  for (std::size_t i = 0; i < all.size();) {
    std::uint64_t end = all[i].end();
    std::size_t next = i + 1;
    for (; next < all.size() && all[next].start < end; ++next) end = std::max(end, all[next].end());
    if (next == i + 1) {
      pieces.push_back(std::move(all[i]));
    } else {
      lacking.push_back({all[i].start, end, "shared-code"});
      for (const cfi::Function& merged : cfi::merge_overlapping(std::span(all).subspan(i, next - i), rules))
        add_agreed(merged, rules, pieces);
    }
    i = next;
  }
  return pieces;
}

std::string evidence_of(const FunctionProof& proof, Program& program) {
  if (program.marks().is_sure_start(proof.start)) return "called or a symbol";
  return proof.is_taken_only ? "its address is taken" : "where another function ends by a jump";
}

void count_function(const FunctionProof& proof, Program& program, SynthesisCoverage& coverage) {
  const bool reads_by_contents = !proof.unbounded_tables.empty();
  SynthesisCoverage::Function function{
      proof.start, evidence_of(proof, program), reads_by_contents, {}, proof.refused_at};
  if (proof.refusal == Refusal::None) {
    ++coverage.functions;
    if (reads_by_contents) ++coverage.by_contents;
  } else {
    function.refusal = name_of(proof.refusal);
    ++coverage.refused[function.refusal];
  }
  coverage.found.push_back(std::move(function));
}

}  // namespace

void synthesize(Program& program, const RangeSet& kept_out, cfi::RuleTable& rules, std::vector<cfi::Function>& pieces,
                SynthesisCoverage& coverage, std::vector<Lack>& lacking) {
  std::vector<cfi::Function> all;
  // To visit one may find others, which nothing has proved.
  const std::size_t count = program.functions().size();
  const SharedCode shared(program, count, lacking);
  PieceBuilder builder(program, shared, kept_out, rules, lacking);
  for (std::size_t i = 0; i < count; ++i) {
    const FunctionProof proof = program.functions()[i];
    if (program.described(proof.start) != nullptr || kept_out.overlaps({proof.start, proof.start + 1})) continue;
    FunctionProof last = proof;
    std::vector<cfi::Function> found;
    if (proof.refusal == Refusal::None) {
      last = visit_steps(program, proof, [&](const Step& step, const State& state) { builder.add(step, state); });
      last.is_taken_only = proof.is_taken_only;
      found = builder.take();
    }
    count_function(last, program, coverage);
    if (last.refusal == Refusal::None) {
      std::ranges::move(found, std::back_inserter(all));
      continue;
    }
    for (const cfi::Function& piece : found) lacking.push_back({piece.start, piece.end(), name_of(last.refusal)});
  }
  std::ranges::sort(coverage.found, {}, &SynthesisCoverage::Function::start);
  pieces = disjoint(std::move(all), rules, lacking);
  lacking = disjoint(std::move(lacking));
  for (const cfi::Function& piece : pieces) {
    coverage.bytes += piece.size;
    coverage.rows += piece.rows.size();
  }
}

}  // namespace sframe_gen::rows::proof
